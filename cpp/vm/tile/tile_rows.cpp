#include "vm/tile/tile_rows.h"

#include <bit>

#include "core/ops/sum_order.h"

namespace dvm::vm {

bool is_wide(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i64;
}

bool may_be_rows(int64_t elements) {
  // Of those that end within the lanes of a sum, each is a run of its own (cpu/chain/rows.h).
  constexpr int64_t kWorthRuns = 128;
  return elements % core::kSumLanes == 0 || elements >= kWorthRuns;
}

bool are_alone(int64_t elements) { return elements % core::kSumLanes != 0 || elements >= kLongRow; }

TileRows tile_rows(const Stage& stage, const Tiling& tiling) {
  TileRows rows{tiling.wide(), 0};
  const auto from = [&](int boundary) {
    DimMask columns = 0;
    int64_t elements = 1;
    for (int d = boundary; d < tiling.rank; ++d) {
      if ((rows.wide & dim_bit(d)) == 0) continue;
      columns |= dim_bit(d);
      elements *= tiling.tile[d];
    }
    return may_be_rows(elements) && columns != rows.wide ? columns : DimMask{0};
  };
  if (stage.reduces()) {
    const bool of_rows = stage.reduce_end == stage.rank;
    rows.columns = from(of_rows ? stage.reduce_begin : stage.reduce_end);
    return rows;
  }
  for (int i = 0; i < stage.step_count && rows.columns == 0; ++i) {
    const KernelStep& step = stage.steps[i];
    if (step.insn != Insn::broadcast) continue;
    const DimMask small = stage.values[step.src[0]].span & rows.wide;
    const DimMask large = stage.values[step.dst].span & rows.wide;
    if (small == 0 || small == large) continue;
    // The boundary is where one of the two ends.
    const DimMask other = large & static_cast<DimMask>(~small);
    const bool per_row = std::countr_zero(small) < std::countr_zero(other);
    const DimMask inner = per_row ? other : small, outer = per_row ? small : other;
    if (std::bit_width(outer) <= std::countr_zero(inner))
      rows.columns = from(std::countr_zero(inner));
  }
  // Inputs that are not dense are read where they lie if they are rows.
  for (int a = 0; a < stage.access_count && rows.columns == 0; ++a) {
    const StageAccess& access = stage.accesses[a];
    if (tiling.is_dense(access, rows.wide)) continue;
    int64_t run = core::byte_size(access.dtype);
    for (int d = tiling.rank - 1; d > 0; --d) {
      if ((rows.wide & dim_bit(d)) == 0) continue;
      if (access.strides[d] != run) break;
      run *= tiling.tile[d];
      if (tiling.row_stride(access, rows.wide, d)) rows.columns = from(d);
    }
  }
  return rows;
}

std::optional<Reach> reach_of(DimMask value, DimMask of, TileRows rows) {
  value &= rows.wide;
  of &= rows.wide;
  if (value == of) return Reach::each;
  if (value == 0) return Reach::one;
  if (rows.columns == 0) return std::nullopt;
  if (value == (of & ~rows.columns)) return Reach::per_row;
  if (value == (of & rows.columns)) return Reach::per_column;
  return std::nullopt;
}

bool vanishes(const Stage& stage, const KernelStep& step, TileRows rows) {
  if (step.insn != Insn::broadcast || !is_wide(step.dtype) || is_output(stage, step.dst)) {
    return false;
  }
  const auto reach = reach_of(stage.values[step.src[0]].span, stage.values[step.dst].span, rows);
  return reach && *reach != Reach::each;
}

bool may_vanish(const Stage& stage, const KernelStep& step) {
  if (step.insn != Insn::broadcast || is_output(stage, step.dst)) return false;
  const DimMask from = stage.values[step.src[0]].span, to = stage.values[step.dst].span;
  const bool by_rows = stage.whole_rows == Stage::Rows::must;
  if (by_rows && (to & ~from & stage.reduced()) == 0) return true;
  if (!is_wide(step.dtype)) return false;
  // An element for each row, or for each column.
  const int outer = std::bit_width(from);
  if (std::countr_zero(static_cast<DimMask>(to & ~from)) >= outer) return true;
  return std::bit_width(static_cast<DimMask>(to & ~from)) <= std::countr_zero(from);
}

}  // namespace dvm::vm
