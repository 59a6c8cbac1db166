#include "vm/tile_cost.h"

#include <algorithm>
#include <limits>

#include "vm/chain_plan.h"

namespace dvm::vm {

namespace {

// A line of the cache, and the elements of a tile with which half of the stalls remain.
constexpr double kLineBytes = 64, kHalfStall = 1024;
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
  for (int a = 0; a < stage_.access_count; ++a) {
    const StageAccess& access = stage_.accesses[a];
    if (tiling.is_dense(access, wide)) continue;
    const Walk way = walk(access, tiling, wide);
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
  if (tiling.reduction == Tiling::Reduction::chunks) {
    // Another Program reduces the partial results.
    const double partials = tiles * per_tile / static_cast<double>(use_.unit);
    cost += table_.run_ns * partials + 64 * table_.instruction_ns;
  }
  return {cost, spill == 0 && broadcasts == 0 && !from_memory_};
}

}  // namespace dvm::vm
