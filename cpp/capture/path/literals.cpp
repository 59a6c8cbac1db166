#include "capture/path/literals.h"

#include <algorithm>
#include <cstring>

#include "capture/cpython/containers.h"
#include "capture/library/library.h"

namespace dvm::capture {

namespace {

bool same_double(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool same_tuple(PyObject* a, PyObject* b) {
  const Py_ssize_t size = PyTuple_GET_SIZE(a);
  if (size != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (!same_literal(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
  }
  return true;
}

bool same_slice(PyObject* a, PyObject* b) {
  const auto* first = reinterpret_cast<PySliceObject*>(a);
  const auto* second = reinterpret_cast<PySliceObject*>(b);
  return same_literal(first->start, second->start) && same_literal(first->stop, second->stop) &&
         same_literal(first->step, second->step);
}

// The same elements in the same order: a path may have gone through them.
bool same_set(PyObject* a, PyObject* b) {
  if (PySet_GET_SIZE(a) != PySet_GET_SIZE(b)) return false;
  Py_ssize_t at = 0, other_at = 0;
  PyObject *element = nullptr, *other = nullptr;
  while (dvm_set_next(a, &at, &element)) {
    if (!dvm_set_next(b, &other_at, &other) || !same_literal(element, other)) return false;
  }
  return true;
}

}  // namespace

bool same_literal(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyLong_CheckExact(a) || PyBytes_CheckExact(a) || PyUnicode_CheckExact(a)) {
    return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
  }
  if (PyFloat_CheckExact(a)) return same_double(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  if (PyComplex_CheckExact(a)) {
    return same_double(PyComplex_RealAsDouble(a), PyComplex_RealAsDouble(b)) &&
           same_double(PyComplex_ImagAsDouble(a), PyComplex_ImagAsDouble(b));
  }
  if (PyTuple_CheckExact(a)) return same_tuple(a, b);
  if (PySlice_Check(a)) return same_slice(a, b);
  if (PySet_CheckExact(a)) return same_set(a, b);
  const auto says_the_same = [&](const Library* library) { return library->same_literal(a, b); };
  return std::ranges::any_of(libraries(), says_the_same);
}

}  // namespace dvm::capture
