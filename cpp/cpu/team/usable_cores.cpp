#include "cpu/team/usable_cores.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <string>
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

std::optional<double> number_in(const std::string& file) {
  std::ifstream in(file);
  double value = 0;
  if (!(in >> value) || value <= 0) return std::nullopt;
  return value;
}

// Processors' worth of time per period, of the group that this process sees as its root.
std::optional<double> cores_of_quota() {
  std::ifstream in("/sys/fs/cgroup/cpu.max");  // version 2: "max 100000" or "150000 100000"
  std::string quota;
  double period = 0;
  if (in >> quota >> period) {
    if (quota == "max" || period <= 0) return std::nullopt;
    return std::stod(quota) / period;
  }
  const auto quota_us = number_in("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");  // version 1; -1: none
  const auto period_us = number_in("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (!quota_us || !period_us) return std::nullopt;
  return *quota_us / *period_us;
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
