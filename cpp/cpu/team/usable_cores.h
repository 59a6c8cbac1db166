// How many processors this process may use.
#pragma once

namespace dvm::cpu {

// At least 1: those of the affinity mask (sched_getaffinity, taskset), and no more than a quota of
// its control group pays for, rounded up (cpu.max; containers have one).
int usable_cores();

}  // namespace dvm::cpu
