// dvm's errors as Python exceptions: one class per class named in core/errors.def, all derived
// from dvm.Error, each instance with `code`, `hint` and `location`.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>

namespace dvm::bindings {

void bind_errors(pybind11::module_& module);

// Sets the Python error for a C++ exception that reached the raw C API; returns null.
PyObject* raise(const std::exception& error);

}  // namespace dvm::bindings
