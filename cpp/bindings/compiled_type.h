// The Python type dvm.Compiled: a raw heap type with vectorcall, because a call through pybind11
// costs several times the call itself. Everything cold about it is attached from Python.
#pragma once

#include "capture/compiled_function.h"

namespace dvm::bindings {

PyObject* make_compiled_type();  // new reference; null: a Python error is set

PyObject* new_compiled(PyObject* function, capture::CompiledFunction::Lower lower);
bool is_compiled(PyObject* object);
capture::CompiledFunction& compiled_of(PyObject* object);

}  // namespace dvm::bindings
