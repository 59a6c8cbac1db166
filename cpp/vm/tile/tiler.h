// The tiler: Algorithm 1 of the DVM paper (section 4.2), refined.
//
// - The limit T_max is the local memory divided by the peak of live *bytes* per element; on targets
//   that stream operands, streamed bytes compete for the same cache and count too.
// - Dims are tiled outermost first, spatial ones before reduced ones. Of the spatial dims whose
//   inner dims fit a tile, the one of least cost is split; ties go to the outermost. On simulated
//   targets the cost ceil(tiles / cores) * (elements per tile + overhead) is minimised over every
//   tile size, also when everything would fit one tile; on a cpu that of tile_cost.h, over sizes
//   that are half as large again each time.
// - A reduced extent too long for a tile is cut into chunks of core::kSumChunk, the only cut that
//   leaves the bits of a sum alone (core/ops/sum_order.h).
#pragma once

#include <cstdint>
#include <optional>

#include "vm/target/target.h"
#include "vm/tile/bind.h"
#include "vm/tile/stage_use.h"

namespace dvm::vm {

struct Tiling {
  enum class Reduction : uint8_t {
    whole,   // every tile holds whole reduced extents, or there is no reduction; what a Stage may
             // insist on
    chunks,  // a tile holds at most kSumChunk reduced elements and gives one partial result
    apart,   // not even a chunk fits, or the reduced dims did not merge: what is to be reduced has
             // to be stored first and left to later Stages, or the Kernel to its parts; nothing
             // else here has a meaning
  };
  Reduction reduction = Reduction::whole;
  int rank = 0;
  int split = 0;  // the dim whose last tile may be shorter; all others divide evenly
  int64_t sizes[kMaxRank], tile[kMaxRank];
  int64_t tile_elements = 1, tile_count = 1;

  int64_t tiles(int dim) const { return (sizes[dim] + tile[dim] - 1) / tile[dim]; }
  DimMask wide() const;  // dims of which a tile holds more than one element
  // Whether a tile of the access is one run of memory, in body and tail tiles alike.
  bool is_dense(const StageAccess& access, DimMask wide) const;
  // Where a tile of the access is rows, each one run of memory of the dims from `columns` on, and
  // all the same way apart: the bytes from one to the next, above 0. None where it is anything
  // else.
  std::optional<int64_t> row_stride(const StageAccess& access, DimMask wide, int columns) const;
};

// A tiling that tests and benchmarks ask for in place of the one of least cost.
struct TileRequest {
  Tiling::Reduction reduction = Tiling::Reduction::whole;
  int split = 0;     // a spatial dim; the tile holds the dims inside it whole
  int64_t tile = 1;  // of the split dim; with chunks: of the innermost one behind the reduced dim
};
// None where the stage has no such tiling. Whether it fits local memory is for emit() to say.
std::optional<Tiling> tile(const Stage& stage, const TileRequest& request);

// The largest number of elements of a tile that fits local memory, if slots leave no gaps.
int64_t tile_limit(const TargetTraits& target, const StageUse& use);

// A tiling with at most `limit` elements per tile.
Tiling tile(const Stage& stage, const TargetTraits& target, const StageUse& use, int64_t limit);

// A tile size of one dim and what it costs.
struct TileChoice {
  int64_t tile = 1, cost = INT64_MAX;
};
// Minimises tile_cost(t) over 1 <= t <= t_max, where the tiles of other dims multiply the number of
// tiles by `outer` and their elements the size of each by `inner`.
struct TileCost {
  int64_t length, outer, inner, cores, overhead;
  int64_t operator()(int64_t t) const;  // ceil(#tiles / cores) * (t * inner + overhead)
};
TileChoice least_cost_tile(const TileCost& cost, int64_t t_max);

// t rounded up so that t * inner is a multiple of `align`, within t_max and length; where that is
// impossible rounded down, and where that is too, unchanged.
int64_t align_tile(int64_t t, int64_t length, int64_t t_max, int64_t inner, int64_t align);

}  // namespace dvm::vm
