// Programs of the ops `gather` and `take_along`, for targets that have no other way to run them:
// the simulated ones.
#pragma once

#include <cstdint>
#include <span>

#include "vm/isa/program.h"
#include "vm/target/target.h"

namespace dvm::vm {

// One dimension of what a gather makes, outermost first: its size, and the bytes from one element
// to the next in each operand, 0 where that does not move.
struct GatherDim {
  int64_t size;
  int64_t table, indices, result;
};

struct GatherSpec {
  DType dtype;
  // At most kMaxRank. Of the indexed one `table` is the distance of neighbours in the table.
  std::span<const GatherDim> dims;
  int indexed;
  int64_t extent;    // of the table along the indexed dim
  bool per_element;  // an index for each element, as of take_along, or for each position
};

// Operands: table, indices (i64), result. Nothing in it may be empty. Tiles hold the innermost dims
// whole as far as local memory goes; dims outside the indexed one that move the indices too have
// one position per tile. Throws UnsupportedError where a limit of Programs is exceeded.
Program encode_gather(const GatherSpec& spec, const TargetTraits& target,
                      std::span<uint64_t> words);

}  // namespace dvm::vm
