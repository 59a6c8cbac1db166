// Calling a Python function with its parameters already bound.
#pragma once

#include "capture/py.h"

namespace dvm::capture {

inline int parameter_count(PyFunctionObject* function) {
  const auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  return code->co_argcount + code->co_kwonlyargcount;
}

// One object per parameter, in order; keyword-only parameters come last and go by name.
inline PyObject* call_bound(PyFunctionObject* function, PyObject* const* bound) {
  const auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  const Py_ssize_t positional = code->co_argcount;
  Ref names;
  if (code->co_kwonlyargcount > 0) {
    names = Ref::steal(PyTuple_GetSlice(code->co_localsplusnames, positional,
                                        positional + code->co_kwonlyargcount));
    if (!names) return nullptr;
  }
  return PyObject_Vectorcall(reinterpret_cast<PyObject*>(function), bound,
                             static_cast<size_t>(positional), names.get());
}

}  // namespace dvm::capture
