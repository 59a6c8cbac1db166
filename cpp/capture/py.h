// Owning references to Python objects for code on the raw C API (the hot path and the tracer).
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstring>
#include <utility>

namespace dvm::capture {

// One strong reference. Must be destroyed with the GIL held.
class Ref {
 public:
  Ref() = default;
  static Ref steal(PyObject* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  static Ref borrow(PyObject* object) { return steal(Py_XNewRef(object)); }
  Ref(const Ref& other) : object_(Py_XNewRef(other.object_)) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// By name, for the type is private to its module; a class made in Python has no dot in it.
inline bool is_deque(PyObject* object) {
  return std::strcmp(Py_TYPE(object)->tp_name, "collections.deque") == 0;
}

// Text that is only ever printed: names and file names, "?" for a lone surrogate.
inline const char* printable(PyObject* unicode) {
  const char* utf8 = PyUnicode_AsUTF8(unicode);
  if (utf8 == nullptr) PyErr_Clear();
  return utf8 ? utf8 : "?";
}

}  // namespace dvm::capture
