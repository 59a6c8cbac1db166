// A Tiling: the sizes of the tiles that a Stage is cut into, and how operands lie in them.
#pragma once

#include <cstdint>
#include <optional>

#include "vm/tile/bind.h"

namespace dvm::vm {

struct Tiling {
  enum class Reduction : uint8_t {
    in_tile,  // every tile holds the reduced extents in full, or there is no reduction; what a
              // Stage may insist on
    chunks,   // a tile holds at most kSumChunk reduced elements and gives one partial result
    stored,   // not even a chunk fits, or the reduced dims did not merge: what is to be reduced has
              // to be stored first and left to later Stages, or the Kernel to its parts; nothing
              // else here has a meaning
  };
  Reduction reduction = Reduction::in_tile;
  int rank = 0;
  int split = 0;  // the innermost dim of the grid, whose last tile may be shorter
  // Other dims whose last tiles are shorter: one at most, beside a split of the columns. All other
  // dims divide evenly.
  DimMask uneven = 0;
  // Whether chains take tiles of short rows together, with what lies apart copied: mostly they
  // compute them where they lie.
  bool joins_rows = false;
  int64_t sizes[kMaxRank], tile[kMaxRank];
  int64_t tile_elements = 1, tile_count = 1;

  int64_t tiles(int dim) const { return (sizes[dim] + tile[dim] - 1) / tile[dim]; }
  // Whether what lies outside of the dim is not one run with it.
  bool ends_runs(int dim) const { return dim == split || (uneven & dim_bit(dim)) != 0; }
  // Of the last tile along a dim.
  int64_t last(int dim) const { return sizes[dim] - (tiles(dim) - 1) * tile[dim]; }
  DimMask wide() const;  // dims of which a tile holds more than one element
  // Whether a tile of the access is one run of memory, in body and tail tiles alike.
  bool is_dense(const StageAccess& access, DimMask wide) const;
  // Where a tile of the access is rows, each one run of memory of the dims from `columns` on, and
  // all the same way apart: the bytes from one to the next, above 0. None where it is anything
  // else.
  std::optional<int64_t> row_stride(const StageAccess& access, DimMask wide, int columns) const;
};

}  // namespace dvm::vm
