// Programs of the ops `gather` and `take_along`, for targets that have no other way to run them:
// the simulated ones.
#pragma once

#include <cstdint>
#include <span>

#include "vm/encode/box_tiles.h"
#include "vm/isa/program.h"
#include "vm/target/target.h"

namespace dvm::vm {

struct GatherSpec {
  static constexpr int kTable = 0, kIndices = 1, kResult = 2;  // operands; indices are i64
  DType dtype;
  // Of the result, at most kMaxRank. Of the indexed one the table's stride is the distance of
  // neighbours there.
  std::span<const BoxDim> dims;
  int indexed;
  int64_t extent;    // of the table along the indexed dim
  bool per_element;  // an index for each element, as of take_along, or for each position
};

// Globals are the operands. Nothing in it may be empty. Tiles hold the innermost dims whole as far
// as local memory goes; dims outside the indexed one that move the indices too have one position
// per tile. Throws UnsupportedError where a limit of Programs is exceeded.
Program encode_gather(const GatherSpec& spec, const TargetTraits& target,
                      std::span<uint64_t> words);

}  // namespace dvm::vm
