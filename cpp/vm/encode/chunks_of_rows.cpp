#include "vm/encode/chunks_of_rows.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "core/ops/sum_order.h"
#include "vm/isa/reduce_source.h"
#include "vm/tile/partials.h"

namespace dvm::vm {

namespace {

// Elements of a tile: to have something to share out, and for its setup to be little.
constexpr int64_t kFewest = 4096, kMost = 65536;

const StageAccess& source(const Stage& stage, const KernelStep& reduce) {
  return stage.accesses[stage.values[reduce.src[0]].index];
}

bool reads_rows(const Stage& stage, const KernelStep& step) {
  if (step.axes == 0 || reduce_order(step.aux) != ReduceOrder::lanes ||
      partial_dtype(step.insn, step.dtype) != step.dtype ||
      stage.values[step.src[0]].kind != StageValue::Kind::global) {
    return false;
  }
  const StageAccess& access = source(stage, step);
  const int64_t stride = access.strides[stage.rank - 2];
  return access.strides[stage.rank - 1] == core::byte_size(access.dtype) && stride > 0 &&
         stride <= UINT32_MAX;
}

}  // namespace

std::optional<ChunksOfRows> chunks_of_rows(const Stage& stage, const TargetTraits& target) {
  const int row = stage.reduce_begin;
  const bool two = stage.reduces() && stage.reduce_end == stage.rank && stage.rank - row == 2;
  if (!target.streams || !two || stage.reduced_in_tile != Stage::InTile::may ||
      !std::all_of(stage.steps, stage.steps + stage.step_count,
                   [&](const KernelStep& step) { return reads_rows(stage, step); })) {
    return std::nullopt;
  }
  const int64_t rows = stage.sizes[row], columns = stage.sizes[row + 1];
  if (columns > UINT32_MAX) return std::nullopt;
  const int64_t unit = core::kSumChunk / std::gcd(core::kSumChunk, columns);
  const int64_t wanted = std::clamp(rows * columns / 8, kFewest, kMost);
  ChunksOfRows result;
  Tiling& tiling = result.tiling;
  tiling.reduction = Tiling::Reduction::chunks;
  tiling.rank = stage.rank;
  tiling.split = row;
  std::copy_n(stage.sizes, stage.rank, tiling.sizes);
  std::fill_n(tiling.tile, row, int64_t{1});
  tiling.tile[row] = std::min(rows, unit * std::max<int64_t>(1, wanted / (unit * columns)));
  tiling.tile[row + 1] = columns;
  tiling.tile_elements = tiling.tile[row] * columns;
  for (int d = 0; d < stage.rank; ++d) tiling.tile_count *= tiling.tiles(d);
  if (tiling.tile_elements > kMaxTileElements) return std::nullopt;
  result.chunks = core::sum_chunks(tiling.tile_elements);
  return result;
}

Program encode_chunks_of_rows(const Stage& stage, const ChunksOfRows& rows_of_tile,
                              const TargetTraits& target, std::span<uint64_t> words,
                              Drafts& drafts) {
  const Tiling& tiling = rows_of_tile.tiling;
  const int row = tiling.split;
  int grid_dims[kMaxRank];
  std::iota(grid_dims, grid_dims + row + 1, 0);
  drafts.count = drafts.operands = drafts.view_dims = drafts.steps = 0;
  const auto add_stream = [&](int access) {
    drafts.operand[drafts.operands++] = {Mode::stream, 0, static_cast<uint16_t>(access), 0};
  };
  for (int i = 0; i < stage.step_count; ++i) {
    const KernelStep& step = stage.steps[i];
    const auto* output = std::find_if(stage.outputs, stage.outputs + stage.output_count,
                                      [&](const StageOutput& of) { return of.value == step.dst; });
    DVM_CHECK(output != stage.outputs + stage.output_count, "a partial result is not stored");
    Draft& draft = drafts.at[drafts.count++];
    draft = {};
    draft.first_operand = drafts.operands;
    draft.arity = 2;
    draft.fixed = Instruction{.insn = step.insn, .dtype = step.dtype, .aux = step.aux};
    draft.fixed.size = static_cast<uint32_t>(tiling.tile[row]);
    draft.fixed.n = static_cast<uint32_t>(tiling.tile[row + 1]);
    draft.fixed.split = static_cast<uint8_t>(Split::size);
    draft.fixed.tail = static_cast<uint32_t>(tiling.last(row));
    add_stream(output->access);
    add_stream(stage.values[step.src[0]].index);
    Operand& rows = drafts.operand[drafts.operands - 1];
    rows = rows_operand(rows, static_cast<uint32_t>(source(stage, step).strides[row]));
  }
  const auto rank = static_cast<size_t>(row) + 1;
  return write_program({.stage = stage,
                        .tiling = tiling,
                        .target = target,
                        .grid_dims = {grid_dims, rank},
                        .local_bytes = static_cast<uint32_t>(target.reserve_bytes),
                        .loop_flags = 0,
                        .chunks_of_tile = rows_of_tile.chunks},
                       drafts, words);
}

}  // namespace dvm::vm
