#include "vm/tile/tile_cost.h"

#include <algorithm>
#include <limits>

#include "core/math/integers.h"

namespace dvm::vm {

namespace {

// A line of the cache, and the elements of a tile with which half of the stalls remain.
constexpr double kLineBytes = 64, kHalfStall = 1024;
// Of what a chain takes to begin, what another of its rows takes that is a run of its own; and of
// what a step takes to be translated, what it takes besides for each vector of a row that is no
// block of them. Functions compute the whole last vector.
constexpr double kRowShare = 0.1, kVectorShare = 0.7;
constexpr int64_t kVectorBytes = 64, kBlockBytes = 512;
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

TileCosts::TileCosts(Schedules& schedules)
    : schedules_(schedules), stage_(schedules.stage()), facts_(schedules.facts()) {
  for (int d = 0; d < stage_.rank; ++d) elements_ *= static_cast<double>(stage_.sizes[d]);
  from_memory_ = elements_ * per_element(facts_.streamed) > table_.far_bytes;
}

double TileCosts::per_element(int64_t weight) const {
  return static_cast<double>(weight) / static_cast<double>(facts_.unit);
}

double TileCosts::setup_ns(const TileUse& use) const {
  double setup = table_.tile_ns + table_.instruction_ns * (use.instructions - use.chains) +
                 table_.chain_ns * use.chains + table_.micro_op_ns * use.micro_ops;
  // Rows begin and end with their reductions: as long as a chain, which sums of a tile are not.
  if (stage_.reduced_in_tile == Stage::InTile::must) setup += table_.chain_ns * facts_.reductions;
  return setup;
}

// Of the functions among the steps, per element.
double TileCosts::functions_ns(int begin, int end) const {
  double ns = 0;
  for (int s = begin; s < end; ++s) {
    const KernelStep& step = stage_.steps[s];
    if (!schedules_.target().chains->of(ChainElements::floats, step.insn).alone) continue;
    ns += table_.element_ns[static_cast<size_t>(CostClass::function)][cost_column(step.dtype)];
  }
  return ns;
}

// Of the rows that the chains of all tiles compute one by one.
double TileCosts::rows_ns(const Tiling& tiling, const Schedule& schedule) const {
  int64_t columns = 1, tail = 1;
  for (int d = 0; d < tiling.rank; ++d) {
    if ((schedule.shape.rows.columns & dim_bit(d)) == 0) continue;
    const int64_t t = tiling.tile[d], last = tiling.sizes[d] - (tiling.tiles(d) - 1) * t;
    columns *= t;
    tail *= d == tiling.split ? last : t;
  }
  const int64_t rows_of_tile = tiling.tile_elements / columns;
  const auto count = static_cast<double>(tiling.tile_count);
  const auto tails =
      tail == columns ? count : count / static_cast<double>(tiling.tiles(tiling.split));
  const double alone = (are_alone(columns) ? count - tails : 0) + (are_alone(tail) ? tails : 0);
  double row_ns = 0;
  for (int r = 0; r < schedule.run_count; ++r) {
    const auto [begin, end, width, reads_rows] = schedule.runs[r];
    if (width == kNoChain) continue;
    row_ns += kRowShare * table_.chain_ns;
    const int64_t bytes = columns * std::max(int{width}, 4);
    if (bytes >= kBlockBytes) continue;
    const auto vectors = static_cast<double>(core::ceil_div(bytes, kVectorBytes));
    row_ns += kVectorShare * table_.micro_op_ns * vectors * (end - begin);
    const auto unused = static_cast<double>(core::round_up(bytes, kVectorBytes) - bytes);
    row_ns += functions_ns(begin, end) * unused / std::max(int{width}, 4);
  }
  return alone * static_cast<double>(rows_of_tile) * row_ns;
}

TileCosts::Copies TileCosts::find_copies(const Schedule& schedule) const {
  Copies copies;
  for (int k = 0; k < stage_.output_count; ++k) {
    const int16_t value = schedule.root[stage_.outputs[k].value], to = stage_.outputs[k].access;
    if (!schedule.is_only_copied(stage_, value)) continue;
    const int16_t from = stage_.values[value].index;
    if (!schedule.shape.is_dense(from) && !schedule.shape.is_dense(to)) continue;
    ++copies.count;
    copies.accesses |= uint64_t{1} << from | uint64_t{1} << to;
  }
  return copies;
}

TileCosts::Estimate TileCosts::operator()(const Tiling& tiling) const {
  const Schedule& schedule = schedules_.of(tiling);
  const TileUse& use = schedule.use;
  const TileShape& shape = schedule.shape;
  const auto tiles = static_cast<double>(tiling.tile_count);
  const auto per_tile = static_cast<double>(tiling.tile_elements);
  double setup = setup_ns(use), walks = 0, moved = per_element(use.moved), strided = 0;
  double local = per_tile * per_element(use.live), broadcasts = 0;
  for (int column = 0; column < kCostColumns; ++column) {
    if (use.expanded[column] == 0) continue;
    const double elements = per_element(use.expanded[column]);
    moved += 2 * cost_bytes(column) * elements;  // written, and read again
    broadcasts += 2 * table_.element_ns[static_cast<size_t>(CostClass::move)][column] * elements;
  }
  const Copies copies = find_copies(schedule);
  setup += table_.instruction_ns * copies.count;
  for (int a = 0; a < stage_.access_count; ++a) {
    if (shape.is_dense(a)) continue;
    const StageAccess& access = stage_.accesses[a];
    const Walk way = walk(access, tiling, shape.rows.wide);
    if (schedule.is_used_as_rows(a)) {
      if (stage_.reduces()) walks += table_.run_ns * way.runs;  // else see rows_ns()
      if (!schedule.is_loaded(a)) continue;
    }
    const double bytes = core::byte_size(access.dtype);
    const bool is_copied = (copies.accesses >> a & 1) != 0;
    if (!is_copied) setup += table_.instruction_ns;
    const int column = cost_column(access.dtype);
    if (way.runs < way.elements) {
      const auto row = static_cast<size_t>(CostClass::move);
      walks += table_.run_ns * way.runs;
      // Written, and read again.
      if (!is_copied) walks += 2 * table_.element_ns[row][column] * way.elements;
    } else {
      const auto row = static_cast<size_t>(CostClass::strided);
      walks += table_.element_ns[row][column] * way.elements;
      strided += kLineBytes / std::min(way.per_line, kLineBytes / bytes) * table_.spill_ns;
    }
    if (is_copied) continue;
    moved += 2 * bytes * way.elements / per_tile;
    local += bytes * way.elements;
  }
  if (local > static_cast<double>(schedules_.target().local_bytes)) {
    return {std::numeric_limits<double>::infinity(), false};
  }
  const double held = per_tile * per_element(facts_.streamed) + local;
  const double beyond = std::clamp(held / table_.near_bytes - 1, 0.0, 1.0);
  const double spill = moved * table_.spill_ns * beyond;
  double element_ns = strided + spill + broadcasts;
  // Something is handed on while operands come from memory.
  const bool from_memory = from_memory_ && use.moved > 0;
  if (from_memory) {
    // Rows are read more than once, mostly from the cache.
    if (stage_.reduced_in_tile != Stage::InTile::must) setup *= kHiddenSetup;
    element_ns +=
        table_.stall_ns * per_element(facts_.streamed) * per_tile / (per_tile + kHalfStall);
  }
  double cost = tiles * (setup + walks) + elements_ * element_ns;
  if (shape.rows.columns != 0) cost += rows_ns(tiling, schedule);
  if (tiling.reduction == Tiling::Reduction::chunks) {
    // Another Program reduces the partial results.
    const double partials = tiles * per_tile / static_cast<double>(facts_.unit);
    cost += table_.run_ns * partials + 64 * table_.instruction_ns;
  }
  return {cost, spill == 0 && broadcasts == 0 && !from_memory};
}

}  // namespace dvm::vm
