#include "capture/call_load.h"

#include <algorithm>
#include <cmath>

#include "capture/library/library.h"

namespace dvm::capture {

namespace {

// Of a container so many elements are looked at.
constexpr Py_ssize_t kLooked = 8;

double size_of(PyObject* object) {
  if (const Library* library = exact_library_of(object)) {
    return static_cast<double>(library->view(object).bytes());
  }
  if (PyBool_Check(object)) return object == Py_True ? 7 : 0;  // another way through the program
  if (PyLong_CheckExact(object)) {
    const double number = PyLong_AsDouble(object);
    if (PyErr_Occurred()) PyErr_Clear();
    return std::abs(number);
  }
  if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
    return static_cast<double>(PySequence_Fast_GET_SIZE(object));
  }
  if (PyDict_CheckExact(object)) return static_cast<double>(PyDict_GET_SIZE(object));
  if (PyAnySet_CheckExact(object)) return static_cast<double>(PySet_GET_SIZE(object));
  if (PyUnicode_CheckExact(object)) return static_cast<double>(PyUnicode_GET_LENGTH(object));
  return 0;
}

double log_of(PyObject* object) { return std::log2(1 + size_of(object)); }

}  // namespace

double load_of(std::span<PyObject* const> arguments) {
  double load = 0;
  for (PyObject* argument : arguments) {
    if (argument == nullptr) continue;
    load += log_of(argument);
    if (!PyList_CheckExact(argument) && !PyTuple_CheckExact(argument)) continue;
    const Py_ssize_t looked = std::min(PySequence_Fast_GET_SIZE(argument), kLooked);
    for (Py_ssize_t i = 0; i < looked; ++i) load += log_of(PySequence_Fast_GET_ITEM(argument, i));
  }
  return load;
}

}  // namespace dvm::capture
