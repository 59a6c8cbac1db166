#include "capture/signature.h"

#include <cstdlib>

namespace dvm::capture {

namespace {

constexpr const char* kLayoutNames[] = {"C-contiguous", "strided", "not in C order"};

Signature tagged(Argument argument, uint64_t rest) {
  return static_cast<uint64_t>(argument) | rest << 8;
}

bool is_identity_object(PyObject* object) {
  return object == Py_None || PyBool_Check(object) || object == Py_Ellipsis ||
         PyUnicode_CheckExact(object) || PyType_Check(object);
}

}  // namespace

Layout layout_of(PyArrayObject* array) {
  if (PyArray_IS_C_CONTIGUOUS(array)) return Layout::c_contiguous;
  for (int i = 1; i < PyArray_NDIM(array); ++i) {
    if (std::abs(PyArray_STRIDE(array, i)) > std::abs(PyArray_STRIDE(array, i - 1))) {
      return Layout::other;
    }
  }
  return Layout::ordered;
}

Signature signature_of(PyObject* object) {
  if (PyArray_CheckExact(object)) {
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    const auto dtype = dtype_of(array);
    if (!dtype || PyArray_NDIM(array) > core::kMaxRank) return 0;
    return tagged(Argument::array, static_cast<uint64_t>(*dtype) |
                                       static_cast<uint64_t>(PyArray_NDIM(array)) << 8 |
                                       static_cast<uint64_t>(layout_of(array)) << 16);
  }
  if (PyFloat_CheckExact(object)) return tagged(Argument::floating, 0);
  if (PyLong_CheckExact(object)) return tagged(Argument::integer, 0);
  if (is_identity_object(object)) {
    return tagged(Argument::object, reinterpret_cast<uintptr_t>(object));
  }
  return 0;
}

std::string describe(PyObject* object) {
  const char* type = Py_TYPE(object)->tp_name;
  if (!PyArray_Check(object)) return std::string("object of type ") + type;
  if (!PyArray_CheckExact(object)) return std::string("ndarray subclass ") + type;
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  const auto dtype = dtype_of(array);
  if (!dtype) {
    return std::string("array of ") + PyArray_DESCR(array)->typeobj->tp_name +
           ", or byte-swapped, or misaligned";
  }
  return std::string(core::info(*dtype).numpy) + " array of rank " +
         std::to_string(PyArray_NDIM(array)) + ", " +
         kLayoutNames[static_cast<int>(layout_of(array))];
}

}  // namespace dvm::capture
