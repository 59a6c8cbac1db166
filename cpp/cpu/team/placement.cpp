#include "cpu/team/placement.h"

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

namespace dvm::cpu {

#ifdef __linux__

int current_processor() { return sched_getcpu(); }

void keep_off(int processor, std::span<std::thread> workers) {
  cpu_set_t set;
  if (processor < 0 || processor >= CPU_SETSIZE) return;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return;
  CPU_CLR(processor, &set);
  if (CPU_COUNT(&set) == 0) return;
  for (std::thread& worker : workers) {
    // Refused where a processor went away meanwhile: then the worker stays as it was.
    (void)pthread_setaffinity_np(worker.native_handle(), sizeof set, &set);
  }
}

#else

int current_processor() { return -1; }

void keep_off(int, std::span<std::thread>) {}

#endif

}  // namespace dvm::cpu
