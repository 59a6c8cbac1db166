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

// Whether no two different elements of sets like this one are equal, as 1 and 1.0 are: then what
// contains them says which they are. numbers: the type of all numbers so far, or null.
bool are_told_by_equality(PyObject* set, PyTypeObject*& numbers) {
  Py_ssize_t at = 0;
  PyObject* element = nullptr;
  while (dvm_set_next(set, &at, &element)) {
    PyTypeObject* const type = Py_TYPE(element);
    const bool is_float = PyFloat_CheckExact(element) && PyFloat_AS_DOUBLE(element) != 0;
    if (is_float || PyLong_CheckExact(element)) {
      if (numbers != nullptr && numbers != type) return false;
      numbers = type;
    } else if (!PyUnicode_CheckExact(element) && !PyBytes_CheckExact(element) &&
               type->tp_richcompare != PyBaseObject_Type.tp_richcompare) {
      return false;
    }
  }
  return true;
}

// In whatever order: that follows from how a set came to be, in a copy it may be another one, and
// no path goes by it. Elements as they come are tried first, for a set mostly is in the order it
// was.
bool same_set(PyObject* a, PyObject* b) {
  if (PySet_GET_SIZE(a) != PySet_GET_SIZE(b)) return false;
  Py_ssize_t at = 0, other_at = 0;
  PyObject *element = nullptr, *other = nullptr;
  bool is_same = true;
  while (is_same && dvm_set_next(a, &at, &element)) {
    is_same = dvm_set_next(b, &other_at, &other) && same_literal(element, other);
  }
  PyTypeObject* numbers = nullptr;
  if (is_same || !are_told_by_equality(a, numbers) || !are_told_by_equality(b, numbers)) {
    return is_same;
  }
  at = 0;
  while (dvm_set_next(a, &at, &element)) {
    if (PySet_Contains(b, element) != 1) return false;
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
