#include "runtime/whole/indexed.h"

#include "runtime/whole/walk.h"

namespace dvm::runtime {

namespace {

// One look at all indices of a line: the sign of `stray` says that one is out of range. Of adjacent
// ones the compiler takes several at a time.
bool is_in_range(const std::byte* indices, int64_t count, int64_t step, int64_t extent) {
  const auto from = static_cast<uint64_t>(extent), last = 2 * from - 1;
  uint64_t stray = 0;
  const auto look = [&](int64_t index) {
    const uint64_t place = static_cast<uint64_t>(index) + from;
    stray |= place | (last - place);
  };
  if (step == sizeof(int64_t)) {
    const auto* const line = reinterpret_cast<const int64_t*>(indices);
    for (int64_t i = 0; i < count; ++i) look(line[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) look(element<int64_t>(indices, i * step));
  }
  return static_cast<int64_t>(stray) >= 0;
}

// Elements of a row that is no run of memory, from which on it is gone through by itself.
constexpr int64_t kLeastRow = 8;

}  // namespace

// Dims of one step each are left out, and those that follow the one before for all arrays join it.
void Indexed::add(const Dim& dim) {
  if (dim.size == 1) return;
  if (rank_ > 0) {
    Dim& outer = dims_[rank_ - 1];
    if (outer.table == dim.size * dim.table && outer.index == dim.size * dim.index &&
        outer.elements == dim.size * dim.elements) {
      outer = {outer.size * dim.size, dim.table, dim.index, dim.elements};
      return;
    }
  }
  dims_[rank_++] = dim;
}

std::optional<Indexed> Indexed::of(IndexPer per, const BufferView& table, const BufferView& indices,
                                   const BufferView& elements, int axis, bool repeats) {
  Indexed all;
  all.indices_ = indices.data;
  all.table_ = table.data;
  all.elements_ = elements.data;
  all.extent_ = table.shape[axis];
  all.step_ = table.strides[axis];
  all.all_indices_ = indices;
  all.run_ = core::byte_size(table.dtype);
  bool fits = true;
  const auto stride_of = [&](int d, int64_t size) {
    const bool one = repeats && elements.shape[d] == 1;
    fits = fits && (one || elements.shape[d] == size);
    return one ? 0 : elements.strides[d];
  };
  if (per == IndexPer::element) {
    for (int d = 0; d < table.rank; ++d) {
      const int64_t size = indices.shape[d];
      fits = fits && (d == axis || table.shape[d] == size);
      all.add({size, d == axis ? 0 : table.strides[d], indices.strides[d], stride_of(d, size)});
    }
  } else {
    const auto add = [&](int d, int of_elements) {
      all.add({table.shape[d], table.strides[d], 0, stride_of(of_elements, table.shape[d])});
    };
    for (int d = 0; d < axis; ++d) add(d, d);
    // The innermost dims that are dense move at once.
    const int later = indices.rank - 1;
    int dense = table.rank;
    for (; dense - 1 > axis; --dense) {
      const int d = dense - 1;
      const int64_t size = table.shape[d], stride = stride_of(d + later, size);
      if (size != 1 && (table.strides[d] != all.run_ || stride != all.run_)) break;
      all.run_ *= size;
    }
    const auto add_chosen = [&] {
      for (int d = 0; d < indices.rank; ++d) {
        all.add({indices.shape[d], 0, indices.strides[d], stride_of(axis + d, indices.shape[d])});
      }
    };
    // Lines are long: of others that are few the indices go by once for each.
    const bool by_rows = dense > axis + 1 && table.shape[dense - 1] >= kLeastRow;
    if (by_rows) add_chosen();
    for (int d = axis + 1; d < dense; ++d) add(d, d + later);
    if (!by_rows) add_chosen();
  }
  if (!fits) return std::nullopt;
  if (all.rank_ == 0) all.dims_[all.rank_++] = {1};
  return all;
}

bool Indexed::in_range() const {
  Indexed lines;
  for (int d = 0; d < all_indices_.rank; ++d) {
    const int64_t size = all_indices_.shape[d], stride = all_indices_.strides[d];
    if (size == 0) return true;
    if (stride != 0) lines.add({size, 0, stride, 0});
  }
  if (lines.rank_ == 0) lines.dims_[lines.rank_++] = {1};
  lines.indices_ = indices_;
  lines.run_ = lines.extent_ = 1;
  bool inside = true;
  lines.for_each_line([&](const Line& line) {
    inside = inside && is_in_range(line.indices, line.dim.size, line.dim.index, extent_);
  });
  return inside;
}

}  // namespace dvm::runtime
