#include "capture/library/strided.h"

#include <algorithm>
#include <cstdlib>

namespace dvm::capture {

namespace {

// Strides of axes of size 1 say nothing: 0, as NumPy's iterator has it.
int64_t telling_stride(const Strided& array, int axis) {
  return array.shape[axis] == 1 ? 0 : std::abs(array.strides[axis]);
}

bool is_dense(const Strided& array, const AxisOrder& order) {
  if (array.is_empty()) return true;
  int64_t expected = array.item_bytes;
  for (int i = array.rank - 1; i >= 0; --i) {
    const int axis = order.axes[static_cast<size_t>(i)];
    if (array.shape[axis] == 1) continue;
    if (array.strides[axis] != expected) return false;
    expected *= array.shape[axis];
  }
  return true;
}

uint8_t repeated_axes(const Strided& array) {
  uint8_t repeated = 0;
  for (int axis = 0; axis < array.rank; ++axis) {
    const bool stays = array.shape[axis] > 1 && array.strides[axis] == 0;
    repeated |= static_cast<uint8_t>(static_cast<unsigned>(stays) << axis);
  }
  return repeated;
}

bool is_overlapping(const Strided& array, const AxisOrder& order) {
  int64_t covered = 0;
  for (int i = array.rank - 1; i >= 0; --i) {
    const int axis = order.axes[static_cast<size_t>(i)];
    const int64_t stride = telling_stride(array, axis);
    if (stride == 0) continue;
    if (stride <= covered) return true;
    covered = stride * (array.shape[axis] - 1);
  }
  return false;
}

}  // namespace

bool Strided::is_empty() const {
  return std::any_of(shape, shape + rank, [](int64_t size) { return size == 0; });
}

// The insertion sort of NumPy's npyiter_find_best_axis_ordering for one operand: an axis moves
// inwards past the first axis of smaller stride, and axes without a telling stride are passed over.
AxisOrder order_of(const Strided& array) {
  AxisOrder order;
  const int rank = array.rank;
  for (int i = 0; i < rank; ++i) order.axes[static_cast<size_t>(i)] = static_cast<int8_t>(i);
  if (is_in_c_order(array)) return order;

  auto* axes = order.axes.data();
  for (int i = rank - 2; i >= 0; --i) {
    const int8_t axis = axes[i];
    const int64_t stride = telling_stride(array, axis);
    int place = i;
    for (int k = i + 1; stride != 0 && k < rank; ++k) {
      const int64_t inner = telling_stride(array, axes[k]);
      if (inner == 0) continue;
      if (inner <= stride) break;
      place = k;
    }
    std::rotate(axes + i, axes + i + 1, axes + place + 1);
  }
  const bool permuted = !std::is_sorted(axes, axes + rank);
  order.overlapping = is_overlapping(array, order);
  if (!permuted && !order.overlapping && array.is_contiguous) return order;
  order.repeated = repeated_axes(array);
  if (!permuted) {
    order.layout = Layout::ordered;
  } else {
    order.layout = is_dense(array, order) ? Layout::permuted_contiguous : Layout::permuted;
  }
  return order;
}

bool lies_in(const Strided& array, const AxisOrder& order) {
  if (order.repeated != 0) return false;
  return array.is_empty() ? array.rank <= 2 : is_dense(array, order);
}

}  // namespace dvm::capture
