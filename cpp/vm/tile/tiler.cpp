#include "vm/tile/tiler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/math/integers.h"
#include "core/ops/sum_order.h"
#include "vm/tile/chain_steps.h"
#include "vm/tile/core_cost.h"
#include "vm/tile/tile_cost.h"

namespace dvm::vm {

namespace {

// Of a cpu, in elements. Below kLeastTile setup is all there is. A tile takes no more than an
// eighth of all, to have something to share out and to even out, but may always take kShare, and
// never more than kMostElements. Columns that lie together are no more than that, either, where one
// tile takes all of them, and a single row is no more than kLongest.
constexpr int64_t kLeastTile = 96, kShare = 16384, kLongest = 65536, kMostElements = 262144;

using core::ceil_div;

int64_t product(const int64_t* sizes, int begin, int end) {
  int64_t result = 1;
  for (int d = begin; d < end; ++d) result *= sizes[d];
  return result;
}

// Elements of the narrowest dtype in one unit of alignment.
int64_t align_elements(const Stage& stage, const TargetTraits& target) {
  int bytes = 8;
  for (int a = 0; a < stage.access_count; ++a) {
    bytes = std::min(bytes, core::byte_size(stage.accesses[a].dtype));
  }
  return std::max(1, target.align / bytes);
}

Tiling untiled(const Stage& stage) {
  Tiling result;
  result.rank = stage.rank;
  std::copy_n(stage.sizes, stage.rank, result.sizes);
  std::copy_n(stage.sizes, stage.rank, result.tile);
  std::fill_n(result.tile, stage.cut, 1);
  result.split = stage.cut;
  return result;
}

// One dim in tiles of `t`: those inside it are whole, the spatial ones outside it of one element.
void split_at(Tiling& tiling, const Stage& stage, int split, int64_t t) {
  for (int d = 0; d < split; ++d) {
    if (!stage.reduces() || d < stage.reduce_begin || d >= stage.reduce_end) tiling.tile[d] = 1;
  }
  tiling.tile[split] = t;
  tiling.split = split;
}

// Where all spatial dims are tiled to 1 but the innermost, which takes `t` of its columns. Where
// the last chunk is short, they divide `even`ly or are the second dim with tails.
void cut_into_chunks(Tiling& tiling, const Stage& stage, int64_t t, int64_t align,
                     bool even = true) {
  const int reduced = stage.reduce_begin;
  std::fill_n(tiling.tile, tiling.rank, 1);
  tiling.tile[reduced] = core::kSumChunk;
  tiling.split = reduced;
  tiling.reduction = Tiling::Reduction::chunks;
  if (stage.reduce_end == tiling.rank) return;
  const int inner = tiling.rank - 1;
  const int64_t columns = tiling.sizes[inner];
  t = std::min(columns, t);
  if (t == columns) {  // whole rows of memory
  } else if (!even || tiling.sizes[reduced] % core::kSumChunk == 0) {
    t = align_tile(t, columns, t, 1, t < core::kSumLanes ? align : core::kSumLanes);
    tiling.split = inner;
    if (!even) tiling.uneven = dim_bit(reduced);
  } else {
    while (columns % t != 0) --t;
  }
  tiling.tile[inner] = t;
}

// Whether each instruction has the two dims that end unevenly in extents of their own: reductions
// and loads do, and chains over rows of columns.
bool may_be_ragged(const Schedule& schedule, const Stage& stage, const Tiling& tiling) {
  const DimMask ragged = tiling.uneven | dim_bit(tiling.split);
  const TileRows rows = schedule.shape.rows;
  const auto has_both = [&](int16_t value) {
    return (stage.values[value].span & rows.wide & ragged) == ragged;
  };
  for (int r = 0; r < schedule.run_count; ++r) {
    const Schedule::Run& run = schedule.runs[r];
    if (run.width != kNoChain) {
      if (rows.columns != 0 && (rows.columns & ragged) == dim_bit(tiling.split)) continue;
      return false;
    }
    const KernelStep& step = stage.steps[run.begin];
    if (step.axes != 0) {
      const DimMask of = stage.values[step.src[0]].span;
      const DimMask from = stage.values[schedule.root[step.src[0]]].span;
      if (((of ^ from) & rows.wide) != 0) return false;  // expanded first
    } else if (has_both(step.dst)) {
      return false;
    }
  }
  return true;
}

// Whether all that is done is to ask of lines of memory whether any or all elements are true. A
// tile asks whole ones: it stops at the first element that decides, and has threads of its own for
// a single line; cut in two, the second part would not know of the first.
bool asks_lines(Schedules& schedules) {
  const Stage& stage = schedules.stage();
  const int last = stage.rank - 1;
  if (stage.step_count == 0 || stage.reduce_begin != last || stage.reduce_end != stage.rank ||
      stage.sizes[last] > kMaxTileElements) {
    return false;
  }
  return std::all_of(stage.steps, stage.steps + stage.step_count, [&](const KernelStep& step) {
    const StageValue& source = stage.values[step.src[0]];
    if ((step.insn != Insn::max && step.insn != Insn::min) || step.dtype != DType::boolean ||
        step.axes == 0 || source.kind != StageValue::Kind::global) {
      return false;
    }
    const StageAccess& access = stage.accesses[source.index];
    return access.strides[last] == core::byte_size(access.dtype);
  });
}

// Whether chains compute short rows one by one.
bool has_short_rows(Schedules& schedules, const Tiling& tiling) {
  const DimMask columns = schedules.of(tiling).shape.rows.columns;
  int64_t elements = 1;
  for (int d = 0; d < tiling.rank; ++d) {
    if ((columns & dim_bit(d)) != 0) elements *= tiling.tile[d];
  }
  return columns != 0 && are_short(elements);
}

void count_tiles(Tiling& tiling) {
  for (int d = 0; d < tiling.rank; ++d) {
    tiling.tile_elements *= tiling.tile[d];
    tiling.tile_count *= tiling.tiles(d);
  }
}

}  // namespace

int64_t TileCost::operator()(int64_t t) const {
  return ceil_div(outer * ceil_div(length, t), cores) * (t * inner + overhead);
}

TileChoice least_cost_tile(const TileCost& cost, int64_t t_max) {
  const int64_t work = ceil_div(cost.outer * cost.length * cost.inner, cost.cores);
  t_max = std::min(t_max, cost.length);
  TileChoice best;
  // By rounds of tiles per core, from the fewest possible on: for a number of rounds the smallest
  // tile that needs no more is the cheapest. Rounds that allow no smaller tile than the ones before
  // are skipped, and no round can do better than perfectly shared work plus its overheads.
  int64_t rounds = ceil_div(cost.outer * ceil_div(cost.length, t_max), cost.cores);
  while (work + rounds * cost.overhead < best.cost) {
    const int64_t t = ceil_div(cost.length, rounds * cost.cores / cost.outer);
    if (const int64_t c = cost(t); c < best.cost) best = {t, c};
    if (t == 1) break;
    rounds = ceil_div(cost.outer * ceil_div(cost.length, t - 1), cost.cores);
  }
  return best;
}

int64_t align_tile(int64_t t, int64_t length, int64_t t_max, int64_t inner, int64_t align) {
  const int64_t unit = align / std::gcd(align, inner);
  const int64_t up = ceil_div(t, unit) * unit, down = t / unit * unit;
  if (std::min(up, length) <= t_max) return std::min(up, length);
  return down > 0 ? down : t;
}

int64_t tile_limit(Schedules& schedules) {
  const TargetTraits& target = schedules.target();
  const TileUse& use = schedules.of(untiled(schedules.stage())).use;
  const int64_t room =
      target.local_bytes - target.reserve_bytes - int64_t{use.slots} * target.align;
  // Streams that overflow the cache are slow, not wrong.
  const int64_t elements = room * schedules.facts().unit / std::max<int64_t>(1, use.live);
  return std::clamp<int64_t>(elements, 1, kMaxTileElements);
}

namespace {

// The tiling of least cost on a cpu with whole reduced dims; tile_count 0 where nothing costs less
// than `least`. Lines may have any length; `joins` short rows, or computes them one by one.
Tiling least_cost_in_tile(const Stage& stage, const TargetTraits& target, const TileCosts& costs,
                          int64_t limit, bool lines, bool joins, double& least) {
  const auto whole = [&] {
    Tiling tiling = untiled(stage);
    tiling.joins_rows = joins;
    return tiling;
  };
  const int64_t align = align_elements(stage, target);
  const int begin = stage.reduce_begin, end = stage.reduces() ? stage.reduce_end : begin;
  Tiling best;
  best.tile_count = 0;
  int64_t inner = product(stage.sizes, stage.cut, stage.rank);
  // What lies together is a tile of its own, where it leaves half of local memory to others.
  const int64_t longest = std::min({limit, kLongest, target.local_bytes / 2});
  const int64_t all_columns = std::min(limit, kMostElements);
  // Rows are read again: what does not stay in the second cache costs more than setup.
  const int64_t most = stage.reduced_in_tile == Stage::InTile::must ? kShare : kMostElements;
  limit = std::min(limit, std::clamp(inner / 8, kShare, most));
  const bool single = stage.reduces() && product(stage.sizes, begin, end) == inner;
  if (single && (inner <= longest || lines)) {
    best = whole();
    count_tiles(best);
    least = costs(best).ns;
    return best;
  }
  // Columns that lie together need no copy, which counts for more than sharing out a little work.
  const bool columns =
      stage.reduces() && end < stage.rank && stage.reduced_in_tile != Stage::InTile::must;
  if (columns && inner <= all_columns) {
    Tiling one = whole();
    count_tiles(one);
    if (const TileCosts::Estimate cost = costs(one); cost.ns < least) {
      least = cost.ns;
      best = one;
    }
  }
  for (int d = stage.cut; d < stage.rank; ++d) {
    if (begin <= d && d < end) continue;
    inner /= stage.sizes[d];
    if (inner > std::max(limit, longest) && !(lines && inner == stage.sizes[begin])) continue;
    const int64_t length = stage.sizes[d];
    const int64_t t_max = std::clamp(limit / inner, int64_t{1}, length);
    for (int64_t tiles = ceil_div(length, t_max);; tiles += std::max<int64_t>(1, tiles / 2)) {
      const int64_t t = ceil_div(length, tiles);
      const bool small = t * inner <= kLeastTile && std::isfinite(least);
      if (small && tiles == ceil_div(length, t_max)) break;  // rows one by one, each a tile
      Tiling tiling = whole();
      // Loops of kernels take several vectors at a time, and what is left of a tile is slow.
      const bool sums_columns = stage.reduces() && d + 1 == stage.rank;
      const bool long_run = inner == 1 && t >= 16 * align;
      const int64_t vectors = sums_columns && t > align ? 4
                              : !long_run               ? 1
                              : t < 64 * align          ? 4
                                                        : 16;
      const int64_t aligned =
          align_tile(t, length, t_max, sums_columns ? 1 : inner, vectors * align);
      // Rows of awkward length are not worth a tile that leaves the cache.
      const int64_t at_most = sums_columns ? 2 * t : inner > 1 ? t + t / 4 : aligned;
      split_at(tiling, stage, d, aligned > at_most ? t : aligned);
      count_tiles(tiling);
      const TileCosts::Estimate cost = costs(tiling);
      if (cost.ns < least) {
        least = cost.ns;
        best = tiling;
      }
      if (cost.roomy && tiling.tile_count == 1) return best;
      if (t == 1 || small || cost.roomy) break;
      if (cost.ns > 2 * least && std::isfinite(cost.ns)) break;
    }
  }
  return best;
}

Tiling tile_by_caches(Schedules& schedules, int64_t limit) {
  const Stage& stage = schedules.stage();
  const TargetTraits& target = schedules.target();
  const TileCosts costs(schedules);
  double least = std::numeric_limits<double>::infinity();
  Tiling best;
  best.tile_count = 0;
  if (stage.reduced_in_tile != Stage::InTile::never) {
    const bool lines = asks_lines(schedules);
    best = least_cost_in_tile(stage, target, costs, limit, lines, false, least);
    if (lines && best.tile_count != 0) return best;
    if (!stage.reduces() && has_short_rows(schedules, untiled(stage))) {
      const Tiling joined = least_cost_in_tile(stage, target, costs, limit, lines, true, least);
      if (joined.tile_count != 0) best = joined;
    }
  }
  if (!stage.reduces()) {
    if (best.tile_count != 0) return best;
    best = untiled(stage);  // one element each: emit() will say that it does not fit
    split_at(best, stage, stage.rank - 1, 1);
    count_tiles(best);
    return best;
  }
  const int end = stage.reduce_end;
  if (stage.reduced_in_tile != Stage::InTile::must && end - stage.reduce_begin == 1 &&
      stage.sizes[stage.reduce_begin] > core::kSumChunk && limit >= core::kSumChunk) {
    const int64_t align = align_elements(stage, target);
    const int64_t columns = end == stage.rank ? 1 : stage.sizes[stage.rank - 1];
    // Whole rows of memory need no copy, however long they are.
    const int64_t most =
        std::max(std::min(limit, kMostElements), std::min(limit, columns * core::kSumChunk));
    for (int64_t t = std::min(columns, most / core::kSumChunk);; t /= 2) {
      Tiling tiling = untiled(stage);
      cut_into_chunks(tiling, stage, t, align);
      count_tiles(tiling);
      TileCosts::Estimate cost = costs(tiling);
      const bool is_short = stage.sizes[stage.reduce_begin] % core::kSumChunk != 0;
      if (is_short && t < columns && t >= core::kSumLanes) {
        Tiling ragged = untiled(stage);
        cut_into_chunks(ragged, stage, t, align, false);
        count_tiles(ragged);
        const TileCosts::Estimate other = costs(ragged);
        if (other.ns < cost.ns && may_be_ragged(schedules.of(ragged), stage, ragged)) {
          tiling = ragged;
          cost = other;
        }
      }
      if (cost.ns < least) {
        least = cost.ns;
        best = tiling;
      }
      if (t == 1 || (t <= align && best.tile_count != 0) || cost.roomy) break;
    }
  }
  if (best.tile_count == 0) best.reduction = Tiling::Reduction::stored;
  return best;
}

// Fewer cores than there are, each with a larger tile, where starting them all takes longer than
// what they share out: only if the launch is shorter by more than an eighth, because the parameters
// are partly assumed, and Algorithm 1 is measured.
int64_t tile_for_fewer_cores(const TileCost& tiles, const CoreCost& cost, int64_t t,
                             int64_t t_max) {
  const auto count = [&](int64_t tile) { return tiles.outer * ceil_div(tiles.length, tile); };
  const auto time = [&](int64_t tile) {
    const int64_t rounds = ceil_div(count(tile), tiles.cores);
    return cost(static_cast<double>(ceil_div(count(tile), rounds)), static_cast<double>(rounds),
                static_cast<double>(tile * tiles.inner));
  };
  const auto work = static_cast<double>(tiles.outer * tiles.length * tiles.inner);
  const double cores = std::sqrt(work * (cost.per_element + cost.stored) / cost.per_core);
  const auto wanted = static_cast<int64_t>(
      std::ceil(work / std::max(1.0, std::floor(cores)) / static_cast<double>(tiles.inner)));
  const int64_t larger = std::clamp(wanted, t, std::max(t, std::min(t_max, tiles.length)));
  constexpr double kWorthwhile = 7.0 / 8;
  return time(larger) < kWorthwhile * time(t) ? larger : t;
}

}  // namespace

Tiling tile(Schedules& schedules, int64_t limit) {
  return tile(schedules, limit, schedules.target().cores);
}

Tiling tile(Schedules& schedules, int64_t limit, int32_t cores) {
  const Stage& stage = schedules.stage();
  const TargetTraits& target = schedules.target();
  if (target.policy == TilePolicy::caches) return tile_by_caches(schedules, limit);
  Tiling result = untiled(stage);
  const int begin = stage.reduce_begin, end = stage.reduces() ? stage.reduce_end : begin;
  const int64_t reduced = product(stage.sizes, begin, end);
  const int64_t align = align_elements(stage, target);

  // Every spatial dim whose inner dims fit is a candidate for the split.
  const int64_t spatial = product(stage.sizes, 0, begin) * product(stage.sizes, end, stage.rank);
  const CoreCost core = core_cost(stage, target);
  // Algorithm 1 has 2; nothing but copies takes no time per element.
  const int64_t overhead = std::max(
      target.tile_overhead, static_cast<int64_t>(core.per_tile / std::max(core.per_element, 1e-3)));
  TileChoice best;
  TileCost best_cost{};
  int split = -1;
  int64_t outer = 1, inner = spatial * reduced / product(stage.sizes, 0, stage.cut);
  for (int d = stage.cut; d < stage.rank; ++d) {
    if (begin <= d && d < end) continue;
    inner /= stage.sizes[d];
    if (inner <= limit) {
      const TileCost cost{stage.sizes[d], outer, inner, cores, overhead};
      const TileChoice choice = least_cost_tile(cost, limit / inner);
      if (choice.cost < best.cost) {
        best = choice;
        best_cost = cost;
        split = d;
      }
    }
    outer *= stage.sizes[d];
  }

  if (stage.reduces()) {
    const bool fits = split >= 0 || (spatial == 1 && reduced <= limit);
    const bool can_cut = stage.reduced_in_tile != Stage::InTile::must && end - begin == 1 &&
                         reduced > core::kSumChunk && limit >= core::kSumChunk;
    const int64_t columns = product(stage.sizes, end, stage.rank);
    // Whole columns only if a tile holds a useful run of them; rows are one column wide.
    const bool narrow = limit / reduced < std::min(columns, align);
    if (can_cut && (narrow || stage.reduced_in_tile == Stage::InTile::never)) {
      cut_into_chunks(result, stage, limit / core::kSumChunk, align);
    } else if (!fits || stage.reduced_in_tile == Stage::InTile::never) {
      result.reduction = Tiling::Reduction::stored;
      return result;
    }
  }
  if (result.reduction == Tiling::Reduction::in_tile && split >= 0) {
    const int64_t t_max = limit / best_cost.inner;
    best.tile = tile_for_fewer_cores(best_cost, core, best.tile, t_max);
    best.cost = best_cost(best.tile);
    const int64_t aligned = align_tile(best.tile, best_cost.length, t_max, best_cost.inner, align);
    // Whole rows of awkward length: alignment is not worth idle cores.
    const bool keep = best_cost.inner > 1 && best_cost(aligned) > best.cost + best.cost / 4;
    split_at(result, stage, split, keep ? best.tile : aligned);
  }
  count_tiles(result);
  return result;
}

std::optional<Tiling> tile(const Stage& stage, const TileRequest& request) {
  Tiling result = untiled(stage);
  const int begin = stage.reduce_begin, end = stage.reduces() ? stage.reduce_end : begin;
  if (request.reduction == Tiling::Reduction::chunks) {
    if (stage.reduced_in_tile == Stage::InTile::must || end - begin != 1 ||
        stage.sizes[begin] <= core::kSumChunk) {
      return std::nullopt;
    }
    cut_into_chunks(result, stage, request.tile, 1);
  } else {
    const int split = request.split;
    if (split >= stage.rank || (begin <= split && split < end)) return std::nullopt;
    split_at(result, stage, split, std::min(request.tile, stage.sizes[split]));
  }
  count_tiles(result);
  return result;
}

}  // namespace dvm::vm
