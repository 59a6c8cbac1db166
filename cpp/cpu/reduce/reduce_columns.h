// Reductions over elements that are not adjacent, in sequential order: the part of them that is the
// same for all types, reductions and SIMD levels, and compiled once. Outputs are independent, so
// that a group of them shares every step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/reduce/chunk_tree.h"
#include "vm/run/tile_kernel.h"

namespace dvm::cpu {

// A group of outputs goes through the additions together. Its totals, whatever their type is, are
// whole vectors, of which there are at most four.
using GroupTotals = Totals<4 * 64>;

// Outputs next to each other: the elements of each are `step` apart.
struct Columns {
  const std::byte* src;
  int64_t step;
};
// Fewer than a vector holds.
struct NarrowColumns {
  const std::byte* src;
  int64_t step;
  int count;
};
// Outputs whose first elements are anywhere: short rows, and columns that fill no vector.
inline constexpr int kGathered = 16;
struct Gathered {
  const std::byte* starts[kGathered];
  int64_t step;
};

// What a type, a reduction and a SIMD level have of their own. A chunk is one of ChunkTree.
struct GroupKernels {
  using Chunk = void (*)(const void* context, int64_t begin, int64_t count, GroupTotals& totals);
  int element_bytes;            // in memory
  int per_vector;               // outputs
  int gathered_vectors;         // that hold kGathered outputs, the last one filled up
  bool any_order;               // a row is one chunk
  Chunk columns, wide_columns;  // one vector of outputs, four of them
  Chunk gathered;
  Chunk narrow_columns;  // nullptr where a level cannot load a part of a vector
  void (*combine)(GroupTotals& totals, const GroupTotals& more, int vectors);
  void (*store)(const GroupTotals& totals, int count, std::byte* dst);
};

// Several outputs, that is m * n > 1, or rows that lie apart.
void reduce_columns(const GroupKernels& kernels, const vm::TileArgs& args);

// The bytes from one row of n elements to the next.
inline int64_t row_step(const vm::TileArgs& args, int64_t element_bytes) {
  return args.row_stride.value_or(args.n * element_bytes);
}

}  // namespace dvm::cpu
