// Which steps of a Stage become one chain, and how its banks are shared: a register allocator over
// straight-line code that runs on every call, in one pass and without the heap.
//
// Values that leave the chain are stored as soon as they are there. Operands that are read more
// than once are loaded into banks while there are banks to spare, the first two before anything
// else, so that a target can load them side by side; others are read where they are needed. Where
// more than kBanks values are live, one goes to memory and is read from there.
#pragma once

#include <cstdint>

#include "vm/tile/bind.h"
#include "vm/tile/liveness.h"
#include "vm/tile/tile_rows.h"

namespace dvm::vm {

// What the planner has to know of the tiling: which values stand for others, which leave the Stage,
// and how tiles lie.
struct ChainContext {
  const Stage& stage;
  const int16_t* root;
  const LastUse& last_use;
  const int16_t* first_output;  // by value, -1 without one
  const bool* apart;            // by value: whether its rows lie apart in memory, see row_stride()
  TileRows rows;
};

struct ChainPlan {
  // A word each, and the fixed part of the instruction, within the 255 words it may have.
  static constexpr int kMaxSteps = 188;

  // The steps [begin, end) of the Stage; nothing where end == begin.
  int end = 0;
  int operand_count = 0, step_count = 0;
  // Operands are values: places in memory are for the emitter to find. A written one may also be
  // read, after it has been.
  struct Operand {
    int16_t value;
    bool written;
    Reach reach;
    bool apart;  // read where it lies
  } operands[kMaxChainOperands];
  MicroOp steps[kMaxSteps];
};

// Plans the longest chain that begins with step `begin`, if there is one of at least two steps, or
// of one that is a function, reads an element for several or sums long rows of memory. It may end
// with the sums of rows that it computes.
void plan_chain(const ChainContext& context, int begin, ChainPlan& plan);

// Whether the step may be one of a chain, as far as what it computes goes.
bool may_join_chain(const Stage& stage, const KernelStep& step);

// The end of the steps that make a chain with step `begin` where tiles span all dims; `begin` where
// it makes none. Steps whose value has another `root` are none.
int chain_end(const Stage& stage, const int16_t* root, int begin);

}  // namespace dvm::vm
