#include <array>

#include "capture/library/library.h"
#include "capture/replay/numbers/items.h"

namespace dvm::capture::numbers {

namespace {

// Of one digit, as most are: without a call.
bool is_small(PyObject* integer, int64_t& value) {
#if PY_VERSION_HEX < 0x030C0000
  const Py_ssize_t size = Py_SIZE(integer);
  if (size < -1 || size > 1) return false;
  value = size * static_cast<int64_t>(reinterpret_cast<PyLongObject*>(integer)->ob_digit[0]);
  return true;
#else
  const auto* const number = reinterpret_cast<PyLongObject*>(integer);
  if (!PyUnstable_Long_IsCompact(number)) return false;
  value = PyUnstable_Long_CompactValue(number);
  return true;
#endif
}

}  // namespace

std::optional<std::pair<Type, Cell>> number_of(PyObject* object) {
  if (PyFloat_CheckExact(object)) {
    return std::pair{Type{Kind::floating}, Cell{.f = PyFloat_AS_DOUBLE(object)}};
  }
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    int64_t value = 0;
    if (!is_small(object, value)) value = PyLong_AsLongLongAndOverflow(object, &overflow);
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

std::optional<std::pair<Type, Cell>> value_of(PyObject* object) {
  const bool is_none = object == Py_None;
  if (!is_none && !PyUnicode_CheckExact(object)) return number_of(object);
  return std::pair{Type{is_none ? Kind::none : Kind::text},
                   Cell{.i = reinterpret_cast<int64_t>(object)}};
}

namespace {

// The interpreter's own objects for characters below 256.
PyObject* character(Py_UCS4 code) {
  static const std::array<PyObject*, 256> all = [] {
    std::array<PyObject*, 256> made{};
    for (int i = 0; i < 256; ++i) made[static_cast<size_t>(i)] = PyUnicode_FromOrdinal(i);
    return made;
  }();
  return code < all.size() ? all[code] : nullptr;
}

std::pair<Type, Cell> text_value(PyObject* text) {
  return {Type{Kind::text}, Cell{.i = reinterpret_cast<int64_t>(text)}};
}

}  // namespace

std::optional<std::pair<Type, Cell>> lasting_value_of(PyObject* object) {
  if (!PyUnicode_CheckExact(object)) return number_of(object);
  if (PyUnicode_GetLength(object) != 1 || character(PyUnicode_ReadChar(object, 0)) != object) {
    return {};
  }
  return text_value(object);
}

std::optional<std::pair<Type, Cell>> part_of_text(PyObject* text, Py_ssize_t place) {
  if (PyBytes_CheckExact(text)) {
    const auto byte = static_cast<unsigned char>(PyBytes_AS_STRING(text)[place]);
    return std::pair{Type{Kind::integer}, Cell{.i = byte}};
  }
  PyObject* const found = character(PyUnicode_READ_CHAR(text, place));
  if (found == nullptr) return {};
  return text_value(found);
}

namespace {

// NOLINTNEXTLINE(performance-no-int-to-ptr): as value_of() has them
PyObject* text_in(Cell cell) { return reinterpret_cast<PyObject*>(cell.i); }

}  // namespace

bool holds_text(Cell text, Cell part) {
  return PyUnicode_Contains(text_in(text), text_in(part)) == 1;
}

std::optional<Py_UCS4> only_character(Cell text) {
  if (PyUnicode_GET_LENGTH(text_in(text)) != 1) return {};
  return PyUnicode_READ_CHAR(text_in(text), 0);
}

std::optional<Cell> character_of(int64_t number) {
  PyObject* const found =
      0 <= number && number < 256 ? character(static_cast<Py_UCS4>(number)) : nullptr;
  if (found == nullptr) return {};
  return Cell{.i = reinterpret_cast<int64_t>(found)};
}

bool equal_texts(Cell a, Cell b) {
  if (a.i == b.i) return true;
  // NOLINTBEGIN(performance-no-int-to-ptr): as value_of() has them
  auto* const one = reinterpret_cast<PyObject*>(a.i);
  auto* const other = reinterpret_cast<PyObject*>(b.i);
  // NOLINTEND(performance-no-int-to-ptr)
  return one != Py_None && other != Py_None && PyUnicode_Compare(one, other) == 0;
}

PyTypeObject* python_type_of(Type type) {
  switch (type.kind) {
    case Kind::integer:
      return &PyLong_Type;
    case Kind::floating:
      return &PyFloat_Type;
    case Kind::boolean:
      return &PyBool_Type;
    case Kind::none:
      return Py_TYPE(Py_None);
    case Kind::text:
      return &PyUnicode_Type;
    case Kind::element:
      return libraries()[type.library]->scalars.type_of(type.dtype);
  }
  __builtin_unreachable();
}

std::optional<Type> type_of_python(PyObject* type) {
  for (const Kind kind : {Kind::integer, Kind::floating, Kind::boolean, Kind::none, Kind::text}) {
    if (type == reinterpret_cast<PyObject*>(python_type_of({kind}))) return Type{kind};
  }
  for (const Library* library : libraries()) {
    for (size_t i = 0; i < std::size(core::kDTypes); ++i) {
      const auto dtype = static_cast<core::DType>(i);
      if (type != reinterpret_cast<PyObject*>(library->scalars.type_of(dtype))) continue;
      return Type{Kind::element, dtype, static_cast<uint16_t>(library->number)};
    }
  }
  return {};
}

namespace {

Variable variable_of(PyObject* object, const std::optional<std::pair<Type, Cell>>& value) {
  Variable variable{.type = {}, .object = Ref::borrow(object)};
  if (value) {
    variable.type = value->first;
    variable.number = value->second;
  }
  return variable;
}

}  // namespace

Variable variable_of(PyObject* object) { return variable_of(object, value_of(object)); }
Variable item_of(PyObject* object) { return variable_of(object, lasting_value_of(object)); }

PyObject* object_of(Type type, Cell number) {
  switch (type.kind) {
    case Kind::integer:
      return PyLong_FromLongLong(number.i);
    case Kind::floating:
      return PyFloat_FromDouble(number.f);
    case Kind::boolean:
      return PyBool_FromLong(number.i != 0);
    case Kind::none:
    case Kind::text:
      // NOLINTNEXTLINE(performance-no-int-to-ptr): as value_of() has it
      return Py_NewRef(reinterpret_cast<PyObject*>(number.i));
    case Kind::element:
      return libraries()[type.library]->scalar_of(type.dtype, number.bytes);
  }
  __builtin_unreachable();
}

}  // namespace dvm::capture::numbers
