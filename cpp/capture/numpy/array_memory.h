// NumPy arrays on memory of the pool (NEP 49): they own their data like any other, and give it back
// to the pool when they die, wherever that happens.
#pragma once

#include "capture/numpy/numpy_api.h"

namespace dvm::capture {

// A new array in C order, of undefined content. New reference; null: a Python error is set.
PyObject* new_array(core::DType dtype, int rank, const npy_intp* shape);

// A new array in C order on the memory of one that owns it, and from then on does not: the duty to
// free it goes over. New reference; null: a Python error is set and nothing has changed.
PyObject* take_over_memory(PyArrayObject* owner, int rank, const npy_intp* shape);

}  // namespace dvm::capture
