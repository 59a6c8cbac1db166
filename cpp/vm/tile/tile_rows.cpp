#include "vm/tile/tile_rows.h"

#include <bit>

#include "core/ops/sum_order.h"

namespace dvm::vm {

bool are_short(int64_t elements) {
  constexpr int64_t kLong = 128;
  return elements % core::kSumLanes != 0 && elements < kLong;
}

bool are_alone(int64_t elements) { return elements % core::kSumLanes != 0 || elements >= kLongRow; }

namespace {

// `dense`: bits of the accesses.
TileRows tile_rows(const Stage& stage, const Tiling& tiling, uint64_t dense) {
  TileRows rows{tiling.wide(), 0};
  const auto from = [&](int boundary) {
    DimMask columns = 0;
    int64_t elements = 1;
    for (int d = boundary; d < tiling.rank; ++d) {
      if ((rows.wide & dim_bit(d)) == 0) continue;
      columns |= dim_bit(d);
      elements *= tiling.tile[d];
    }
    const bool joins = are_short(elements) && (tiling.joins_rows || stage.reduces());
    return !joins && columns != rows.wide ? columns : DimMask{0};
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
  // Inputs that are not dense are read where they lie if they are rows, but for short ones, of
  // which a chain takes longer to begin each than a load to copy it.
  constexpr int64_t kShort = 64;
  for (int a = 0; a < stage.access_count && rows.columns == 0; ++a) {
    if ((dense >> a & 1) != 0) continue;
    const StageAccess& access = stage.accesses[a];
    int64_t run = core::byte_size(access.dtype);
    for (int d = tiling.rank - 1; d > 0; --d) {
      if ((rows.wide & dim_bit(d)) == 0) continue;
      if (access.strides[d] != run) break;
      run *= tiling.tile[d];
      if (run > kShort && tiling.row_stride(access, rows.wide, d)) rows.columns = from(d);
    }
  }
  return rows;
}

}  // namespace

TileShape shape_of(const Stage& stage, const Tiling& tiling, const TargetTraits& target) {
  TileShape shape;
  const DimMask wide = tiling.wide();
  for (int a = 0; a < stage.access_count; ++a) {
    if (tiling.is_dense(stage.accesses[a], wide)) shape.dense |= uint64_t{1} << a;
  }
  shape.rows = {wide, 0};
  if (target.chains) shape.rows = tile_rows(stage, tiling, shape.dense);
  // Of rows shorter than the lanes a copy is as fast as a reduction each.
  const bool adds = target.streams && stage.reduces() &&
                    (stage.reduce_end != stage.rank || stage.reduced_elements() >= core::kSumLanes);
  if (!adds && shape.rows.columns == 0) return shape;
  for (int a = 0; a < stage.access_count; ++a) {
    if (shape.is_dense(a)) continue;
    const auto is_rows = [&](int columns) {
      return tiling.row_stride(stage.accesses[a], wide, columns).has_value();
    };
    if (shape.rows.columns != 0 && is_rows(shape.rows.columns_begin())) {
      shape.column_rows |= uint64_t{1} << a;
    }
    if (adds && is_rows(stage.reduced_rows_begin())) shape.reduced_rows |= uint64_t{1} << a;
  }
  return shape;
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

}  // namespace dvm::vm
