// What the tiles of a Stage use, counted in one pass over its steps: the bytes of local memory and
// of operands per element, and what the instructions of a tile move. The tiler derives from it what
// fits, and the cost model what that costs.
#pragma once

#include <cstdint>

#include "vm/target/target.h"
#include "vm/tile/bind.h"

namespace dvm::vm {

struct StageUse {
  // Weights are bytes per `unit` elements of a tile: a value that lacks the reduced dims has that
  // many times fewer elements.
  int64_t unit = 1;
  int64_t live = 0;      // of values in slots, at their peak
  int64_t streamed = 0;  // of operands in place, where the target streams
  int64_t moved = 0;     // between instructions, or by one that reads an operand once more
  int slots = 0;         // at their peak
  // A run of steps that makes one chain is one instruction. Broadcasts are not counted, nor what
  // they move: whether one is any work is for the tiling to say.
  int instructions = 0, chains = 0, micro_ops = 0;
};

// Whether an output is so large that its tiles are stored from slots past the caches.
bool is_far(const Stage& stage, const StageOutput& output, const TargetTraits& target);

StageUse use_of(const Stage& stage, const TargetTraits& target);

}  // namespace dvm::vm
