// Workers keep off the processor of the thread that wakes them.
#include "cpu/team/placement.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <vector>

namespace dvm::testing {
namespace {

cpu_set_t usable_by(pthread_t thread) {
  cpu_set_t set;
  EXPECT_EQ(pthread_getaffinity_np(thread, sizeof set, &set), 0);
  return set;
}

TEST(Placement, WorkersMayRunWhereTheCallerMayBesidesItsOwn) {
  const cpu_set_t before = usable_by(pthread_self());
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one processor";
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (int i = 0; i < 2; ++i) workers.emplace_back([&] { stop.wait(false); });

  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &before)) continue;
    cpu::keep_off(processor, workers);
    cpu_set_t expected = before;
    CPU_CLR(processor, &expected);
    for (std::thread& worker : workers) {
      const cpu_set_t set = usable_by(worker.native_handle());
      EXPECT_TRUE(CPU_EQUAL(&set, &expected));
    }
  }
  // A caller that may run nowhere else leaves them where they are.
  const cpu_set_t last = usable_by(workers[0].native_handle());
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu::current_processor(), &one);
  ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof one, &one), 0);
  cpu::keep_off(cpu::current_processor(), workers);
  const cpu_set_t now = usable_by(workers[0].native_handle());
  EXPECT_TRUE(CPU_EQUAL(&now, &last));
  ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof before, &before), 0);

  stop = true;
  stop.notify_all();
  for (std::thread& worker : workers) worker.join();
}

}  // namespace
}  // namespace dvm::testing
