#include "capture/numpy/numpy_api.h"
#include "capture/replay/numbers/turn.h"

// Behind NumPy's other headers.
#include <numpy/arrayscalars.h>

namespace dvm::capture::numbers {

namespace {

// Of one of NumPy's own, exactly.
std::optional<core::DType> dtype_of_scalar(PyObject* object) {
  for (int d = 0; d < core::kDTypeCount; ++d) {
    const auto dtype = static_cast<core::DType>(d);
    // A row that NumPy has no name for has the descriptor of another.
    if (!numpy_name(dtype).empty() && descr_of(dtype)->typeobj == Py_TYPE(object)) return dtype;
  }
  return {};
}

}  // namespace

std::optional<std::pair<Type, Cell>> number_of(PyObject* object) {
  if (PyFloat_CheckExact(object)) {
    return std::pair{Type{Kind::floating}, Cell{.f = PyFloat_AS_DOUBLE(object)}};
  }
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) return {};
    return std::pair{Type{Kind::integer}, Cell{.i = value}};
  }
  if (PyBool_Check(object)) {
    return std::pair{Type{Kind::boolean}, Cell{.i = object == Py_True}};
  }
  Cell cell{.i = 0};
  if (Py_IS_TYPE(object, &PyDoubleArrType_Type)) {
    cell.f = PyArrayScalar_VAL(object, Double);
    return std::pair{Type{Kind::element, core::DType::f64}, cell};
  }
  if (!PyArray_IsScalar(object, Generic)) return {};
  const auto dtype = dtype_of_scalar(object);
  if (!dtype) return {};
  PyArray_ScalarAsCtype(object, cell.bytes);
  return std::pair{Type{Kind::element, *dtype}, cell};
}

Variable variable_of(PyObject* object) {
  Variable variable{.type = {}, .object = Ref::borrow(object)};
  if (const auto number = number_of(object)) {
    variable.type = number->first;
    variable.number = number->second;
  }
  return variable;
}

PyObject* object_of(Type type, Cell number) {
  switch (type.kind) {
    case Kind::integer:
      return PyLong_FromLongLong(number.i);
    case Kind::floating:
      return PyFloat_FromDouble(number.f);
    case Kind::boolean:
      return PyBool_FromLong(number.i != 0);
    case Kind::element:
      return PyArray_Scalar(number.bytes, descr_of(type.dtype), nullptr);
  }
  __builtin_unreachable();
}

}  // namespace dvm::capture::numbers
