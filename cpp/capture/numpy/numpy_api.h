// NumPy's C API with one import for all of dvm, and the mapping between its types and ours.
#pragma once

#include "capture/py.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL dvm_numpy_api
#ifndef DVM_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <optional>
#include <string_view>

#include "capture/library/array_view.h"
#include "core/ops/dtype.h"
#include "runtime/host.h"

namespace dvm::capture {

bool import_dtypes();  // false: a Python error is set

std::optional<core::DType> dtype_of(const PyArrayObject* array);  // native byte order, aligned
PyArray_Descr* descr_of(core::DType dtype);                       // borrowed
std::string_view numpy_name(core::DType dtype);                   // "": NumPy has no such dtype
// Whether arrays of NumPy's `given` may hold elements of `dtype`: it is that, or has their bits.
inline bool holds(std::optional<core::DType> given, core::DType dtype) {
  return given == dtype || (given && descr_of(*given) == descr_of(dtype));
}
inline int type_number(core::DType dtype) { return descr_of(dtype)->type_num; }

ArrayView view_of(PyArrayObject* array);
// Borrows the array; `owner` is set to it without a new reference.
void view_into(PyArrayObject* array, core::DType dtype, runtime::BufferView& view);

}  // namespace dvm::capture
