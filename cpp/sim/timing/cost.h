// How long one operation of a trace takes by itself.
#pragma once

#include <span>

#include "sim/timing/second_cache.h"
#include "sim/timing/trace.h"

namespace dvm::sim {

// Of one that computes, or moves within its core: a pipe that was idle takes head cycles more, and
// its results are there tail cycles after the pipe may go on.
struct Effort {
  double head = 0, cycles = 0, tail = 0;
};
Effort effort_of(const TraceOp& op, const vm::Instruction& insn, const vm::CoreTiming& timing);

// Of one that moves to or from global memory. Its amount counts what makes it slower (its start,
// short runs, addresses that are not aligned) as more bytes; of each of them so many bytes are the
// second cache's and global memory's.
struct Transfer {
  double amount = 0, cap = 1;  // bytes, and bytes per cycle at most
  double l2 = 0, hbm = 0;      // share of the amount
  double latency = 0;
  int64_t bytes = 0, hbm_bytes = 0;  // moved, and of these not in the second cache
};
Transfer transfer_of(const Reach& reach, const vm::Instruction& insn, int64_t buffer,
                     const vm::CoreTiming& timing, SecondCache& cache);

}  // namespace dvm::sim
