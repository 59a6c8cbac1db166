// What is asked of each array on each call, read from the array itself: of libraries whose arrays
// are structs that begin alike.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "capture/library/array_view.h"
#include "capture/py.h"
#include "core/ops/dtype.h"

namespace dvm::capture {

struct ArrayFields {
  PyTypeObject* type = nullptr;  // of exactly which class; null: the library has to be asked
  // In bytes from the beginning of an array.
  uint8_t data = 0, rank = 0, shape = 0, strides = 0, elements = 0, flags = 0;
  // What `elements` points to in arrays of a dtype. In those that point elsewhere the dtype may be
  // the same.
  std::array<const void*, core::kDTypeCount> elements_of = {};

  // Whether it is an aligned array of that dtype and rank. False: not, or it does not tell.
  bool tell(PyObject* object, core::DType dtype, int of_rank) const {
    return Py_IS_TYPE(object, type) && has(object, kAligned) && has_elements(look(object), dtype) &&
           at<int32_t>(object, rank) == of_rank;
  }
  // Whether, besides, it has elements and they lie densely in C order.
  bool tell_dense(PyObject* object, core::DType dtype, int of_rank) const {
    if (!tell(object, dtype, of_rank) || !has(object, kCContiguous)) return false;
    const auto* sizes = at<const int64_t*>(object, shape);
    for (int d = 0; d < of_rank; ++d) {
      if (sizes[d] == 0) return false;
    }
    return true;
  }
  // Whether its elements are of that dtype, which lie as the dtype's do where it is aligned. False:
  // not, or it does not tell.
  bool has_elements(const ArrayLook& array, core::DType dtype) const {
    return array.elements == elements_of[static_cast<size_t>(dtype)];
  }
  // Of any array of that class.
  ArrayLook look(PyObject* object) const {
    return {.data = at<std::byte*>(object, data),
            .shape = at<const int64_t*>(object, shape),
            .strides = at<const int64_t*>(object, strides),
            .rank = at<int32_t>(object, rank),
            .flags = at<uint32_t>(object, flags),
            .elements = at<const void*>(object, elements)};
  }

 private:
  template <typename T>
  static T at(PyObject* object, size_t offset) {
    T value;
    std::memcpy(&value, reinterpret_cast<const std::byte*>(object) + offset, sizeof value);
    return value;
  }
  bool has(PyObject* object, uint32_t wanted) const {
    return (at<uint32_t>(object, flags) & wanted) == wanted;
  }
};

}  // namespace dvm::capture
