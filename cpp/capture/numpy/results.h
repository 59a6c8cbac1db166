// What Plans make and hand back, as arrays of NumPy's.
#pragma once

#include <span>

#include "capture/numpy/numpy_api.h"

namespace dvm::capture {

// As Library has them (library/library.h).
PyObject* numpy_result(const runtime::BufferView& buffer);
PyObject* numpy_argument(const runtime::BufferView& buffer);
PyObject* numpy_permuted(Ref array, std::span<const int8_t> order, bool fresh);

}  // namespace dvm::capture
