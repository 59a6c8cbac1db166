// The tiler: Algorithm 1 of the DVM paper (section 4.2), refined.
//
// - The limit T_max is the local memory divided by the peak of live *bytes* per element; on targets
//   that stream operands, streamed bytes compete for the same cache and count too.
// - Dims are tiled outermost first, spatial ones before reduced ones. Of the spatial dims whose
//   inner dims fit a tile, the one of least cost is split; ties go to the outermost. On simulated
//   targets the cost ceil(tiles / cores) * (elements per tile + overhead) is minimised over every
//   tile size, also when everything would fit one tile; core_cost.h has the overhead, and says
//   where fewer cores are faster. On a cpu it is that of tile_cost.h, over sizes that are half as
//   large again each time.
// - A reduced extent too long for a tile is cut into chunks of core::kSumChunk, the only cut that
//   leaves the bits of a sum alone (core/ops/sum_order.h).
#pragma once

#include <cstdint>
#include <optional>

#include "vm/target/target.h"
#include "vm/tile/bind.h"
#include "vm/tile/schedule.h"
#include "vm/tile/tiling.h"

namespace dvm::vm {

// A tiling that tests and benchmarks ask for in place of the one of least cost.
struct TileRequest {
  Tiling::Reduction reduction = Tiling::Reduction::in_tile;
  int split = 0;     // a spatial dim; the tile holds the dims inside it whole
  int64_t tile = 1;  // of the split dim; with chunks: of the innermost one behind the reduced dim
  // Of a product on the cube: tiles of m by n sums, as far as it has so many, in the steps of k
  // that suit these. 0: as they are chosen.
  int64_t m = 0, n = 0;
};
// None where the stage has no such tiling. Whether it fits local memory is for emit() to say.
std::optional<Tiling> tile(const Stage& stage, const TileRequest& request);

// The largest number of elements of a tile that fits local memory, if slots leave no gaps, of the
// Stage that the Schedules are of.
int64_t tile_limit(Schedules& schedules);

// A tiling of that Stage with at most `limit` elements per tile, for all cores of the target or so
// many of them.
Tiling tile(Schedules& schedules, int64_t limit);
Tiling tile(Schedules& schedules, int64_t limit, int32_t cores);

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
