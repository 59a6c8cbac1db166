// How the banks of a chain are shared: a register allocator over straight-line code that runs on
// every call, in one pass and without the heap.
//
// Values that leave the chain are stored as soon as they are there. Operands that are read more
// than once are loaded into banks while there are banks to spare, the first two before anything
// else, so that a target can load them side by side; others are read where they are needed. Where
// more than kBanks values are live, one goes to memory and is read from there.
#pragma once

#include <cstdint>

#include "vm/tile/schedule.h"

namespace dvm::vm {

struct ChainPlan {
  // A word each, and the fixed part of the instruction, within the 255 words it may have.
  static constexpr int kMaxSteps = 188;

  int end = 0;  // of the steps that found room, which mostly are all
  int operand_count = 0, step_count = 0;
  // Operands are values: places in memory are for the emitter to find. A written one may also be
  // read, after it has been.
  struct Operand {
    int16_t value;
    bool written;
    Reach reach;
    bool strided;  // read or written where it lies, row by row
  } operands[kMaxChainOperands];
  MicroOp steps[kMaxSteps];
};

// Plans the chain that a run of the Schedule is, or as much of it as one instruction has room for.
void plan_chain(const Stage& stage, const Schedule& schedule, int run, ChainPlan& plan);

}  // namespace dvm::vm
