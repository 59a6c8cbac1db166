// The places along an axis that an index names, and what can be written there.
#pragma once

#include <algorithm>

#include "capture/numpy/numpy_api.h"

namespace dvm::capture {

inline bool fail(PyObject* kind, const char* text) {
  PyErr_SetString(kind, text);
  return false;
}

// The places along an axis that one part of a key names.
struct Places {
  Ref array;  // of npy_intp, dense in C order
  const npy_intp* data = nullptr;
  npy_intp count = 0;
  PyArrayObject* get() const { return reinterpret_cast<PyArrayObject*>(array.get()); }

  // False: a Python error is set. Nothing but integers names places.
  bool read(PyObject* part) {
    array = PyArray_Check(part) ? Ref::borrow(part) : Ref::steal(PyArray_FROM_O(part));
    if (!array) return false;
    if (!PyArray_ISINTEGER(get())) return fail(PyExc_IndexError, "an index of no integers");
    constexpr int kNeeded = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    if (PyArray_TYPE(get()) != NPY_INTP || !PyArray_CHKFLAGS(get(), kNeeded) ||
        PyArray_ISBYTESWAPPED(get())) {
      // A cast that may lose is refused, as NumPy does.
      array = Ref::steal(PyArray_FROM_OTF(array.get(), NPY_INTP, kNeeded));
      if (!array) return false;
    }
    data = static_cast<const npy_intp*>(PyArray_DATA(get()));
    count = PyArray_SIZE(get());
    return true;
  }

  bool within(npy_intp size) const {
    npy_intp low = 0, high = -1;
    for (npy_intp i = 0; i < count; ++i) {
      low = std::min(low, data[i]);
      high = std::max(high, data[i]);
    }
    return (low >= -size && high < size) || fail(PyExc_IndexError, "an index is out of bounds");
  }
};

// The shape that an index gives, last axis first.
struct IndexShape {
  npy_intp sizes[2 * NPY_MAXDIMS];
  int rank = 0;
};

// Whether a value can be broadcast to the shape; leading axes of size 1 do not count.
inline bool fits(PyArrayObject* value, const IndexShape& shape) {
  const int rank = PyArray_NDIM(value);
  for (int i = 0; i < rank; ++i) {
    const npy_intp size = PyArray_DIM(value, rank - 1 - i);
    const bool fits = i < shape.rank && size == shape.sizes[i];
    if (size != 1 && !fits) return fail(PyExc_ValueError, "a value does not fit an index");
  }
  return true;
}

}  // namespace dvm::capture
