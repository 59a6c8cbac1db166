// The instructions of a Program to be, as emit() leaves them, and writing them as one.
#pragma once

#include <bit>
#include <span>

#include "vm/encode/chain_plan.h"
#include "vm/encode/flags.h"
#include "vm/tile/bind.h"
#include "vm/tile/tiling.h"

namespace dvm::vm {

// An instruction whose operands are not yet entered into the tables of a Program: `index` of a
// stream operand is an access of the Stage, of a scalar operand a value.
struct Draft {
  Instruction fixed;
  int first_operand, arity;
  int first_view_dim, view_dims;
  int first_step, steps;
  Tail more;  // of another dim than the split one; none where its value is 0
};

// Steps, their expansions by several broadcasts, and a load or store per access.
inline constexpr int kMaxDrafts = 512;
inline constexpr int kMaxDraftOperands = 4 * kMaxDrafts;
inline constexpr int kMaxDraftSteps = 1024;  // of chains
// Scratch of emit(): large, and reused from call to call.
struct Drafts {
  // Where a value lives; it goes through the places from left to right. The operand is kept as the
  // one word it is: stored by fields and soon read as a whole, it would stall the processor.
  enum class Place : uint8_t { nowhere, slot, stream, scalar };
  struct Home {
    Place place = Place::nowhere;
    uint64_t word = 0;
    Operand operand() const { return std::bit_cast<Operand>(word); }
  };

  int count = 0, operands = 0, view_dims = 0, steps = 0;
  Draft at[kMaxDrafts];
  Operand operand[kMaxDraftOperands];
  MicroOp step[kMaxDraftSteps];
  ViewDim view_dim[2 * kMaxStageAccesses * kMaxRank];
  SlotUse uses[kMaxDrafts];
  SyncList syncs[kMaxDrafts];
  Home home[kMaxStageValues];
  ChainPlan chain;
};

// What a Program has besides its instructions.
struct ProgramFrame {
  const Stage& stage;
  const Tiling& tiling;
  const TargetTraits& target;
  std::span<const int> grid_dims;  // of the Stage, outermost first
  uint32_t local_bytes;
  uint8_t loop_flags;
  int64_t chunks_of_tile = 1;  // partial results that each tile stores, where any are
};

// Enters the operands of the drafts into the tables of a Program, which is written into `words`.
Program write_program(const ProgramFrame& frame, Drafts& drafts, std::span<uint64_t> words);

}  // namespace dvm::vm
