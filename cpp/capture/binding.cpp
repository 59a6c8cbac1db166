#include "capture/binding.h"

#include <algorithm>

namespace dvm::capture {

bool Binding::bind(PyFunctionObject* function, PyObject* const* args, Py_ssize_t count,
                   PyObject* keywords) {
  const auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  const int named = code->co_argcount + code->co_kwonlyargcount;
  const Py_ssize_t positional = std::min<Py_ssize_t>(count, code->co_argcount);
  PyObject** slots = slots_.data();
  std::fill(std::copy(args, args + positional, slots), slots + parameter_count(function), nullptr);
  PyObject** next = slots + named;
  if (code->co_flags & CO_VARARGS) {
    rest_ = Ref::steal(PyTuple_New(count - positional));
    if (!rest_) return false;
    for (Py_ssize_t i = positional; i < count; ++i) {
      PyTuple_SET_ITEM(rest_.get(), i - positional, Py_NewRef(args[i]));
    }
    *next++ = rest_.get();
  } else if (count > positional) {
    return false;
  }
  if (code->co_flags & CO_VARKEYWORDS) {
    named_ = Ref::steal(PyDict_New());
    if (!named_) return false;
    *next = named_.get();
  }
  return bind_keywords(code, args + count, keywords) && bind_defaults(function);
}

bool Binding::bind_keywords(const PyCodeObject* code, PyObject* const* values, PyObject* keywords) {
  const int named = code->co_argcount + code->co_kwonlyargcount;
  for (Py_ssize_t k = 0; keywords != nullptr && k < PyTuple_GET_SIZE(keywords); ++k) {
    PyObject* name = PyTuple_GET_ITEM(keywords, k);
    int slot = code->co_posonlyargcount;
    while (slot < named &&
           PyUnicode_Compare(PyTuple_GET_ITEM(code->co_localsplusnames, slot), name) != 0) {
      ++slot;
    }
    if (slot < named) {
      if (slots_[static_cast<size_t>(slot)] != nullptr) return false;
      slots_[static_cast<size_t>(slot)] = values[k];
    } else if (!named_ || PyDict_SetItem(named_.get(), name, values[k]) < 0) {
      return false;
    }
  }
  return true;
}

bool Binding::bind_defaults(PyFunctionObject* function) {
  const auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  PyObject* defaults = function->func_defaults;
  PyObject* keyword_defaults = function->func_kwdefaults;
  const Py_ssize_t first = code->co_argcount - (defaults ? PyTuple_GET_SIZE(defaults) : 0);
  for (int i = 0; i < code->co_argcount + code->co_kwonlyargcount; ++i) {
    PyObject*& slot = slots_[static_cast<size_t>(i)];
    if (slot != nullptr) continue;
    if (i >= code->co_argcount) {
      PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, i);
      slot = keyword_defaults ? PyDict_GetItemWithError(keyword_defaults, name) : nullptr;
    } else if (i >= first) {
      slot = PyTuple_GET_ITEM(defaults, i - first);
    }
    if (slot == nullptr) return false;
  }
  return true;
}

}  // namespace dvm::capture
