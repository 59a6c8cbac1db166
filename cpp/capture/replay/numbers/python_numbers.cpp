#include "capture/library/library.h"
#include "capture/replay/numbers/turn.h"

namespace dvm::capture::numbers {

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
  for (const Library* library : libraries()) {
    const auto dtype = library->scalars.dtype_of(object);
    if (!dtype) continue;
    Cell cell{.i = 0};
    library->scalars.read(object, *dtype, cell.bytes);
    return std::pair{Type{Kind::element, *dtype, static_cast<uint16_t>(library->number)}, cell};
  }
  return {};
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
      return libraries()[type.library]->scalar_of(type.dtype, number.bytes);
  }
  __builtin_unreachable();
}

}  // namespace dvm::capture::numbers
