#include "capture/numpy/layout.h"

#include "capture/library/strided.h"

namespace dvm::capture {

namespace {

Strided strided(PyArrayObject* array) {
  static_assert(sizeof(npy_intp) == sizeof(int64_t));
  return {PyArray_NDIM(array), PyArray_DIMS(array), PyArray_STRIDES(array), PyArray_ITEMSIZE(array),
          PyArray_IS_C_CONTIGUOUS(array) != 0};
}

}  // namespace

bool is_in_c_order(PyArrayObject* array) { return is_in_c_order(strided(array)); }
AxisOrder layout_of(PyArrayObject* array) { return order_of(strided(array)); }
bool lies_in(PyArrayObject* array, const AxisOrder& order) {
  return lies_in(strided(array), order);
}

}  // namespace dvm::capture
