// Binding the arguments of a call to the parameters of a Python function, one slot each in the
// order of its local variables: positional, keyword-only, *args (a tuple), **kwargs (a dict).
#pragma once

#include "capture/call_bound.h"
#include "capture/replay/scratch.h"

namespace dvm::capture {

class Binding {
 public:
  explicit Binding(int parameters) : slots_(static_cast<size_t>(parameters)) {}

  // Fills in defaults. False: the call does not fit the signature (a Python error may be set); the
  // original must sort it out, and raise its own TypeError.
  bool bind(PyFunctionObject* function, PyObject* const* args, Py_ssize_t count,
            PyObject* keywords);
  PyObject* const* slots() { return slots_.data(); }

 private:
  bool bind_keywords(const PyCodeObject* code, PyObject* const* values, PyObject* keywords);
  bool bind_defaults(PyFunctionObject* function);

  Scratch<PyObject*, 32> slots_;  // borrowed
  Ref rest_, named_;              // *args and **kwargs
};

}  // namespace dvm::capture
