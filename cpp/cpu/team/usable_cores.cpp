#include "cpu/team/usable_cores.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace dvm::cpu {

namespace {

int cores_of_affinity() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

// The first numbers of a file of the system's, of which "max" is infinite: as many as it has.
struct Numbers {
  double values[2] = {};
  int count = 0;

  explicit Numbers(const char* file) {
    std::FILE* const in = std::fopen(file, "re");
    if (in == nullptr) return;
    char word[32];
    while (count < 2 && std::fscanf(in, "%31s", word) == 1) {
      const bool unlimited = std::strcmp(word, "max") == 0;
      values[count++] = unlimited ? HUGE_VAL : std::strtod(word, nullptr);
    }
    std::fclose(in);
  }
};

// Processors' worth of time per period, of the group that this process sees as its root.
std::optional<double> cores_of_quota() {
  const auto cores = [](double quota, double period) -> std::optional<double> {
    if (!(quota > 0 && quota < HUGE_VAL && period > 0)) return std::nullopt;
    return quota / period;
  };
  const Numbers both("/sys/fs/cgroup/cpu.max");  // version 2: "max 100000" or "150000 100000"
  if (both.count == 2) return cores(both.values[0], both.values[1]);
  const Numbers quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");  // version 1; -1: none
  const Numbers period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  return cores(quota.values[0], period.values[0]);
}

}  // namespace

int usable_cores() {
  int cores = cores_of_affinity();
  if (const auto quota = cores_of_quota()) {
    cores = std::min(cores, static_cast<int>(std::ceil(std::min(*quota, 1e6))));
  }
  return std::max(cores, 1);
}

}  // namespace dvm::cpu
