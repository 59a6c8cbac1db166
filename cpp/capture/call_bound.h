// Calling a Python function with its parameters already bound: one object per slot, in the order of
// its local variables (positional, keyword-only, *args, **kwargs).
#pragma once

#include <vector>

#include "capture/py.h"

namespace dvm::capture {

inline int parameter_count(PyFunctionObject* function) {
  const auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  return code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0) +
         ((code->co_flags & CO_VARKEYWORDS) != 0);
}

inline PyObject* call_bound(PyFunctionObject* function, PyObject* const* bound) {
  const auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  const Py_ssize_t positional = code->co_argcount, by_name = code->co_kwonlyargcount;
  PyObject* const* next = bound + positional + by_name;
  PyObject* rest = code->co_flags & CO_VARARGS ? *next++ : nullptr;
  PyObject* named = code->co_flags & CO_VARKEYWORDS ? *next : nullptr;

  std::vector<PyObject*> arguments(bound, bound + positional);
  for (Py_ssize_t i = 0; rest != nullptr && i < PyTuple_GET_SIZE(rest); ++i) {
    arguments.push_back(PyTuple_GET_ITEM(rest, i));
  }
  const size_t count = arguments.size();
  arguments.insert(arguments.end(), bound + positional, bound + positional + by_name);
  const Py_ssize_t name_count = by_name + (named ? PyDict_GET_SIZE(named) : 0);
  if (name_count == 0) {
    return PyObject_Vectorcall(reinterpret_cast<PyObject*>(function), arguments.data(), count,
                               nullptr);
  }
  Ref names = Ref::steal(PyTuple_New(name_count));
  if (!names) return nullptr;
  for (Py_ssize_t i = 0; i < by_name; ++i) {
    PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, positional + i);
    PyTuple_SET_ITEM(names.get(), i, Py_NewRef(name));
  }
  Py_ssize_t position = 0, i = by_name;
  PyObject *name = nullptr, *value = nullptr;
  while (named != nullptr && PyDict_Next(named, &position, &name, &value)) {
    PyTuple_SET_ITEM(names.get(), i++, Py_NewRef(name));
    arguments.push_back(value);
  }
  return PyObject_Vectorcall(reinterpret_cast<PyObject*>(function), arguments.data(), count,
                             names.get());
}

}  // namespace dvm::capture
