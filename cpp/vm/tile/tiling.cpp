#include "vm/tile/tiling.h"

namespace dvm::vm {

DimMask Tiling::wide() const {
  DimMask result = 0;
  for (int d = 0; d < rank; ++d) {
    if (tile[d] > 1) result |= dim_bit(d);
  }
  return result;
}

bool Tiling::is_dense(const StageAccess& access, DimMask wide) const {
  int64_t run = core::byte_size(access.dtype);
  bool split_seen = false;
  for (int d = rank - 1; d >= 0; --d) {
    if ((access.span & wide & dim_bit(d)) == 0) continue;
    if (access.strides[d] != run || split_seen) return false;
    run *= tile[d];
    split_seen = ends_runs(d);
  }
  return true;
}

std::optional<int64_t> Tiling::row_stride(const StageAccess& access, DimMask wide,
                                          int columns) const {
  int64_t run = core::byte_size(access.dtype);
  std::optional<int64_t> stride;  // 0 for a while where rows repeat one another
  bool split_seen = false, has_columns = false;
  for (int d = rank - 1; d >= 0; --d) {
    if ((wide & dim_bit(d)) == 0) continue;
    if ((access.span & dim_bit(d)) == 0) return std::nullopt;
    has_columns |= d >= columns;
    if (d < columns && !stride) {
      run = access.strides[d];
      stride = run;
      split_seen = false;  // rows that are shorter in a tail tile begin where they always do
    }
    if (access.strides[d] != run || split_seen) return std::nullopt;
    run *= tile[d];
    split_seen = ends_runs(d);
  }
  const bool fits = has_columns && stride && *stride > 0 && *stride <= UINT32_MAX;
  return fits ? stride : std::nullopt;
}

}  // namespace dvm::vm
