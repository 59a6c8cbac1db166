#include "capture/numpy/layout.h"

#include <algorithm>
#include <cstdlib>

namespace dvm::capture {

namespace {

// Strides of axes of size 1 say nothing: 0, as NumPy's iterator has it.
int64_t telling_stride(PyArrayObject* array, int axis) {
  return PyArray_DIM(array, axis) == 1 ? 0 : std::abs(PyArray_STRIDE(array, axis));
}

bool is_dense(PyArrayObject* array, const AxisOrder& order) {
  if (PyArray_SIZE(array) == 0) return true;
  int64_t expected = PyArray_ITEMSIZE(array);
  for (int i = PyArray_NDIM(array) - 1; i >= 0; --i) {
    const int axis = order.axes[static_cast<size_t>(i)];
    if (PyArray_DIM(array, axis) == 1) continue;
    if (PyArray_STRIDE(array, axis) != expected) return false;
    expected *= PyArray_DIM(array, axis);
  }
  return true;
}

uint8_t repeated_axes(PyArrayObject* array) {
  uint8_t repeated = 0;
  for (int axis = 0; axis < PyArray_NDIM(array); ++axis) {
    const bool stays = PyArray_DIM(array, axis) > 1 && PyArray_STRIDE(array, axis) == 0;
    repeated |= static_cast<uint8_t>(static_cast<unsigned>(stays) << axis);
  }
  return repeated;
}

bool is_overlapping(PyArrayObject* array, const AxisOrder& order) {
  int64_t covered = 0;
  for (int i = PyArray_NDIM(array) - 1; i >= 0; --i) {
    const int axis = order.axes[static_cast<size_t>(i)];
    const int64_t stride = telling_stride(array, axis);
    if (stride == 0) continue;
    if (stride <= covered) return true;
    covered = stride * (PyArray_DIM(array, axis) - 1);
  }
  return false;
}

}  // namespace

// Up to two axes, no sum over one of no elements has an order.
bool is_in_c_order(PyArrayObject* array) {
  return PyArray_IS_C_CONTIGUOUS(array) && (PyArray_NDIM(array) < 3 || PyArray_SIZE(array) != 0);
}

// The insertion sort of NumPy's npyiter_find_best_axis_ordering for one operand: an axis moves
// inwards past the first axis of smaller stride, and axes without a telling stride are passed over.
AxisOrder layout_of(PyArrayObject* array) {
  AxisOrder order;
  const int rank = PyArray_NDIM(array);
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
  if (!permuted && !order.overlapping && PyArray_IS_C_CONTIGUOUS(array)) return order;
  order.repeated = repeated_axes(array);
  if (!permuted) {
    order.layout = Layout::ordered;
  } else {
    order.layout = is_dense(array, order) ? Layout::permuted_contiguous : Layout::permuted;
  }
  return order;
}

bool lies_in(PyArrayObject* array, const AxisOrder& order) {
  if (order.repeated != 0) return false;
  return PyArray_SIZE(array) == 0 ? PyArray_NDIM(array) <= 2 : is_dense(array, order);
}

}  // namespace dvm::capture
