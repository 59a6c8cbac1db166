#include "vm/tiler.h"

#include <algorithm>
#include <numeric>

#include "core/sum_order.h"
#include "vm/chain_plan.h"
#include "vm/liveness.h"

namespace dvm::vm {

namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

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

// Where all spatial dims are tiled to 1 but the innermost, which takes `t` of its columns. An
// instruction has one extent that is shorter in a tail tile: when the last chunk is short, the
// columns must divide evenly.
void cut_into_chunks(Tiling& tiling, const Stage& stage, int64_t t, int64_t align) {
  const int reduced = stage.reduce_begin;
  std::fill_n(tiling.tile, tiling.rank, 1);
  tiling.tile[reduced] = core::kSumChunk;
  tiling.split = reduced;
  tiling.reduction = Tiling::Reduction::chunks;
  if (stage.reduce_end == tiling.rank) return;
  const int inner = tiling.rank - 1;
  const int64_t columns = tiling.sizes[inner];
  t = std::min(columns, t);
  if (tiling.sizes[reduced] % core::kSumChunk == 0) {
    t = align_tile(t, columns, t, 1, align);
    tiling.split = inner;
  } else {
    while (columns % t != 0) --t;
  }
  tiling.tile[inner] = t;
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

int64_t tile_limit(const Stage& stage, const TargetTraits& target) {
  if (target.chains && is_one_chain(stage)) return target.chain_cap;
  // A value that lacks the reduced dims has that many times fewer elements. Weights are in bytes
  // per `reduced` elements of the tile.
  const int64_t reduced =
      std::min(core::kSumChunk, product(stage.sizes, stage.reduce_begin, stage.reduce_end));
  auto weight = [&](DType dtype, DimMask span) -> int64_t {
    if (span == 0) return 0;  // one element: the padding below has room for it
    const bool is_short = stage.reduces() && (span & stage.reduced()) == 0;
    return core::byte_size(dtype) * (is_short ? 1 : reduced);
  };
  int64_t streamed = 0, live = 0, peak = 0;
  int slots = 0, peak_slots = 0;
  bool outside[kMaxStageValues];  // not (or not yet) in a slot
  int16_t itself[kMaxStageValues];
  for (int v = 0; v < stage.value_count; ++v) {
    itself[v] = static_cast<int16_t>(v);
    outside[v] = stage.values[v].kind != StageValue::Kind::computed;
  }
  LastUse last_use;
  last_use.compute(stage, itself);
  if (target.streams) {
    for (int a = 0; a < stage.access_count; ++a) {
      streamed += weight(stage.accesses[a].dtype, stage.accesses[a].span);
    }
    for (int k = 0; k < stage.output_count; ++k) outside[stage.outputs[k].value] = true;
  }
  auto add = [&](int16_t v, int sign) {
    live += sign * weight(stage.values[v].dtype, stage.values[v].span);
    slots += sign;
    peak = std::max(peak, live);
    peak_slots = std::max(peak_slots, slots);
  };
  auto load = [&](int16_t v) {
    if (target.streams || !outside[v] || stage.values[v].kind != StageValue::Kind::global) return;
    outside[v] = false;
    add(v, 1);
  };
  auto release = [&](int16_t v, int step) {
    if (outside[v] || last_use[v] > step) return;
    outside[v] = true;
    add(v, -1);
  };
  for (int i = 0; i < stage.step_count; ++i) {
    const KernelStep& step = stage.steps[i];
    for (int k = 0; k < step.arity; ++k) load(step.src[k]);
    if (!outside[step.dst]) add(step.dst, 1);
    for (int k = 0; k < step.arity; ++k) release(step.src[k], i);
    release(step.dst, i);
  }
  for (int k = 0; k < stage.output_count; ++k) {
    load(stage.outputs[k].value);
    release(stage.outputs[k].value, stage.step_count);
  }
  const bool columns = stage.reduces() && stage.reduce_end < stage.rank;
  const int64_t memory =
      columns ? target.local_bytes : std::min(target.local_bytes, target.near_bytes);
  const int64_t room = memory - target.reserve_bytes - int64_t{peak_slots} * target.align;
  auto fitting = [&](int64_t weights) { return room * reduced / std::max<int64_t>(1, weights); };
  int64_t limit = fitting(streamed + peak);
  // row_cap is tuned for whole rows; columns need every byte to keep their runs long.
  const int64_t cap = stage.reduces() ? (columns ? 0 : target.row_cap) : target.tile_cap;
  if (cap != 0) limit = std::min(limit, cap);
  // Streams that overflow the cache are slow, not wrong: a reduction may still have its chunk.
  if (stage.reduces()) limit = std::max(limit, std::min(fitting(peak), core::kSumChunk));
  return std::max<int64_t>(1, limit);
}

Tiling tile(const Stage& stage, const TargetTraits& target, int64_t limit) {
  Tiling result = untiled(stage);
  const int begin = stage.reduce_begin, end = stage.reduces() ? stage.reduce_end : begin;
  const int64_t reduced = product(stage.sizes, begin, end);
  const int64_t align = align_elements(stage, target);

  // Every spatial dim whose inner dims fit is a candidate for the split.
  const int64_t spatial = product(stage.sizes, 0, begin) * product(stage.sizes, end, stage.rank);
  TileChoice best;
  TileCost best_cost{};
  int split = -1;
  int64_t outer = 1, inner = spatial * reduced;
  for (int d = 0; d < stage.rank; ++d) {
    if (begin <= d && d < end) continue;
    inner /= stage.sizes[d];
    if (inner <= limit) {
      const TileCost cost{stage.sizes[d], outer, inner, target.cores, target.tile_overhead};
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
    const bool can_cut = end - begin == 1 && reduced > core::kSumChunk && limit >= core::kSumChunk;
    const int64_t columns = product(stage.sizes, end, stage.rank);
    // Whole columns only if a tile holds a useful run of them; rows are one column wide.
    const bool narrow = limit / reduced < std::min(columns, align);
    if (can_cut && narrow) {
      cut_into_chunks(result, stage, limit / core::kSumChunk, align);
    } else if (!fits) {
      result.reduction = Tiling::Reduction::apart;
      return result;
    }
  }
  if (result.reduction == Tiling::Reduction::whole && split >= 0) {
    const int64_t t_max = limit / best_cost.inner;
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
    if (end - begin != 1 || stage.sizes[begin] <= core::kSumChunk) return std::nullopt;
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
