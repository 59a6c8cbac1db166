#include "vm/tile/tile_cost.h"

#include <algorithm>
#include <limits>

#include "vm/encode/chain_plan.h"
#include "vm/isa/reduce_source.h"

namespace dvm::vm {

namespace {

// A line of the cache, and the elements of a tile with which half of the stalls remain.
constexpr double kLineBytes = 64, kHalfStall = 1024;
// Of what a chain takes to begin, what another of its rows takes that is a run of its own.
constexpr double kRowShare = 0.3;
// What is left of the setup of tiles while the processor waits for memory.
constexpr double kHiddenSetup = 0.5;

// How one tile reads or writes an operand: runs of adjacent elements, or single ones.
struct Walk {
  double elements = 1, runs = 1;
  double per_line = 1;  // adjacent elements in the tile, though not one after the other
};

Walk walk(const StageAccess& access, const Tiling& tiling, DimMask wide) {
  Walk result;
  int64_t run = core::byte_size(access.dtype);
  bool adjacent = true;
  for (int d = tiling.rank - 1; d >= 0; --d) {
    if ((access.span & wide & dim_bit(d)) == 0) continue;
    const auto tile = static_cast<double>(tiling.tile[d]);
    result.elements *= tile;
    if (access.strides[d] == core::byte_size(access.dtype)) result.per_line = tile;
    adjacent = adjacent && access.strides[d] == run;
    if (adjacent) {
      run *= tiling.tile[d];
    } else {
      result.runs *= tile;
    }
  }
  return result;
}

}  // namespace

TileCosts::TileCosts(const Stage& stage, const StageUse& use, const TargetTraits& target)
    : stage_(stage), use_(use), target_(target) {
  setup_ns_ = table_.tile_ns + table_.instruction_ns * (use.instructions - use.chains) +
              table_.chain_ns * use.chains + table_.micro_op_ns * use.micro_ops;
  // Rows begin and end with their reductions: as long as a chain, which sums of a tile are not.
  for (int i = 0; i < stage.step_count && stage.whole_rows == Stage::Rows::must; ++i) {
    if (stage.steps[i].axes != 0) setup_ns_ += table_.chain_ns;
  }
  for (int d = 0; d < stage.rank; ++d) elements_ *= static_cast<double>(stage.sizes[d]);
  const double operands = elements_ * per_element(use.streamed);
  from_memory_ = use.moved > 0 && operands > table_.far_bytes;
}

double TileCosts::per_element(int64_t weight) const {
  return static_cast<double>(weight) / static_cast<double>(use_.unit);
}

// Whether all that reads the access reads it as it lies in memory: rows that reductions add up, and
// such as chains compute.
bool TileCosts::is_read_by_rows(int access, const Tiling& tiling, TileRows rows) const {
  const auto stride = [&](int columns) {
    return tiling.row_stride(stage_.accesses[access], rows.wide, columns);
  };
  const bool adds = target_.streams && stage_.reduces() && stride(stage_.reduce_end);
  const bool chains = target_.chains && rows.columns != 0 &&
                      is_wide(stage_.accesses[access].dtype) && stride(rows.columns_begin());
  if (!adds && !chains) return false;
  const auto is_of_access = [&](int16_t value) {
    const StageValue& of = stage_.values[value];
    return of.kind == StageValue::Kind::global && of.index == access;
  };
  bool is_read = false;
  for (int i = 0; i < stage_.step_count; ++i) {
    const KernelStep& step = stage_.steps[i];
    if (std::none_of(step.src, step.src + step.arity, is_of_access)) continue;
    const bool in_order = step.axes != 0 && reduce_order(step.aux) == ReduceOrder::sequential;
    if (!(adds && in_order) && !(chains && may_join_chain(stage_, step))) return false;
    is_read = true;
  }
  return is_read;
}

// Of the rows that the chains of all tiles compute one by one.
double TileCosts::rows_ns(const Tiling& tiling, TileRows rows) const {
  int64_t columns = 1, tail = 1;
  for (int d = 0; d < tiling.rank; ++d) {
    if ((rows.columns & dim_bit(d)) == 0) continue;
    const int64_t t = tiling.tile[d], last = tiling.sizes[d] - (tiling.tiles(d) - 1) * t;
    columns *= t;
    tail *= d == tiling.split ? last : t;
  }
  const int64_t rows_of_tile = tiling.tile_elements / columns;
  const auto count = static_cast<double>(tiling.tile_count);
  const auto tails =
      tail == columns ? count : count / static_cast<double>(tiling.tiles(tiling.split));
  const double alone = (are_alone(columns) ? count - tails : 0) + (are_alone(tail) ? tails : 0);
  return alone * static_cast<double>(rows_of_tile) * kRowShare * table_.chain_ns * use_.chains;
}

TileCosts::Estimate TileCosts::operator()(const Tiling& tiling) const {
  const TileRows rows = tile_rows(stage_, tiling);
  const DimMask wide = rows.wide;
  const auto tiles = static_cast<double>(tiling.tile_count);
  const auto per_tile = static_cast<double>(tiling.tile_elements);
  double setup = setup_ns_, walks = 0, moved = per_element(use_.moved), strided = 0;
  double local = per_tile * per_element(use_.live), broadcasts = 0;
  for (int i = 0; i < stage_.step_count; ++i) {
    const KernelStep& step = stage_.steps[i];
    if (step.insn != Insn::broadcast) continue;
    const StageValue &to = stage_.values[step.dst], &from = stage_.values[step.src[0]];
    if ((to.span & ~from.span & wide) == 0) continue;
    if (target_.chains && vanishes(stage_, step, rows)) continue;
    setup += table_.instruction_ns;
    moved += 2 * core::byte_size(to.dtype);  // written, and read again
    broadcasts +=
        2 * table_.element_ns[static_cast<size_t>(CostClass::move)][cost_column(to.dtype)];
    if (target_.chains && may_vanish(stage_, step)) {
      local += per_tile * core::byte_size(to.dtype);
    }
  }
  bool by_rows = false;
  for (int a = 0; a < stage_.access_count; ++a) {
    const StageAccess& access = stage_.accesses[a];
    if (tiling.is_dense(access, wide)) continue;
    const Walk way = walk(access, tiling, wide);
    if (is_read_by_rows(a, tiling, rows)) {
      walks += table_.run_ns * way.runs;
      by_rows = true;
      continue;
    }
    const double bytes = core::byte_size(access.dtype);
    setup += table_.instruction_ns;
    if (way.runs < way.elements) {
      walks += table_.run_ns * way.runs;
    } else {
      const int column = cost_column(access.dtype);
      const auto row = static_cast<size_t>(CostClass::strided);
      walks += table_.element_ns[row][column] * way.elements;
      strided += kLineBytes / std::min(way.per_line, kLineBytes / bytes) * table_.spill_ns;
    }
    moved += 2 * bytes * way.elements / per_tile;
    local += bytes * way.elements;
  }
  if (local > static_cast<double>(target_.local_bytes)) {
    return {std::numeric_limits<double>::infinity(), false};
  }
  const double held = per_tile * per_element(use_.streamed) + local;
  const double beyond = std::clamp(held / table_.near_bytes - 1, 0.0, 1.0);
  const double spill = moved * table_.spill_ns * beyond;
  double element_ns = strided + spill + broadcasts;
  if (from_memory_) {
    // Rows are read more than once, mostly from the cache.
    if (stage_.whole_rows != Stage::Rows::must) setup *= kHiddenSetup;
    element_ns += table_.stall_ns * per_element(use_.streamed) * per_tile / (per_tile + kHalfStall);
  }
  double cost = tiles * (setup + walks) + elements_ * element_ns;
  if (by_rows && rows.columns != 0) cost += rows_ns(tiling, rows);
  if (tiling.reduction == Tiling::Reduction::chunks) {
    // Another Program reduces the partial results.
    const double partials = tiles * per_tile / static_cast<double>(use_.unit);
    cost += table_.run_ns * partials + 64 * table_.instruction_ns;
  }
  return {cost, spill == 0 && broadcasts == 0 && !from_memory_};
}

}  // namespace dvm::vm
