#include "capture/replay/numbers/object_steps.h"

#include <algorithm>
#include <array>

#include "capture/replay/numbers/items.h"
#include "core/ops/fp_flags.h"

namespace dvm::capture::numbers {

namespace {

// Counted from the end below 0; none: there is no such element.
std::optional<Py_ssize_t> place_in(PyObject* sequence, int64_t place) {
  const Py_ssize_t size = PyObject_Size(sequence);
  const int64_t at = place < 0 ? place + size : place;
  if (at < 0 || at >= size) return {};
  return at;
}

bool give(const std::optional<std::pair<Type, Cell>>& value, const Typed& result, Cell* cells) {
  if (!value) return false;
  cells[result.cell] = value->second;
  cells[result.type].i = word_of(value->first);
  return true;
}

bool read(PyObject* object, const Typed& result, Cell* cells) {
  return give(number_of(object), result, cells);
}

}  // namespace

bool ElementStep::load_object(int64_t place, Cell* result) const {
  const auto at = place_in(object(), place);
  if (!at) return false;
  constexpr Typed kResult{.cell = 0, .type = 1};
  if (is_text(object())) return give(part_of_text(object(), *at), kResult, result);
  PyObject* const element = PySequence_Fast_GET_ITEM(object(), *at);
  if (!PyFloat_CheckExact(element)) return read(element, kResult, result);
  result[0].f = PyFloat_AS_DOUBLE(element);  // most of them
  result[1].i = word_of({Kind::floating});
  return true;
}

std::optional<Py_ssize_t> ListChangeStep::place_of(int64_t place) const {
  const auto at = place_in(object(), place);
  if (!at) return {};
  PyObject* const was = PyList_GET_ITEM(object(), *at);
  const bool is_number = PyFloat_CheckExact(was) || PyLong_CheckExact(was) || number_of(was);
  return is_number ? at : std::nullopt;
}

bool StoreStep::store_object(int64_t place, Cell value) {
  const auto at = place_of(place);
  Ref made = at ? Ref::steal(object_of(type_, value)) : Ref();
  if (!made) return PyErr_Clear(), false;
  attempt_.keep_element(object(), *at);
  return PyList_SetItem(object(), *at, made.release()) == 0;
}

bool PopStep::run(Cell* cells) {
  const auto at = place_of(cells[place_].i);
  if (!at) return false;
  attempt_.keep_taken(object(), *at);
  return PyList_SetSlice(object(), *at, *at + 1, nullptr) == 0;
}

bool AppendStep::run(Cell* cells) {
  const Ref made = Ref::steal(object_of(value_.type, cells[value_.cell]));
  if (attempt_ != nullptr) attempt_->keep_length(object());
  const bool appended = made && PyList_Append(object(), made.get()) == 0;
  if (!appended) PyErr_Clear();
  return appended;
}

bool LengthStep::run(Cell* cells) {
  cells[result_].i = PyObject_Size(object());
  return true;
}

bool may_box(PyObject* callee) {
  if (!PyCFunction_CheckExact(callee)) return false;
  PyObject* const module = reinterpret_cast<PyCFunctionObject*>(callee)->m_module;
  if (module == nullptr || !PyUnicode_CheckExact(module)) return false;
  return PyUnicode_CompareWithASCIIString(module, "math") == 0 ||
         PyUnicode_CompareWithASCIIString(module, "builtins") == 0;
}

bool BoxedStep::run(Cell* cells) {
  if (arguments_.size() > kMost) return false;
  std::array<Ref, kMost> held;
  std::array<PyObject*, kMost> given{};
  for (size_t i = 0; i < arguments_.size(); ++i) {
    held[i] = Ref::steal(object_of(arguments_[i].type, cells[arguments_[i].cell]));
    given[i] = held[i].get();
    if (!held[i]) return PyErr_Clear(), false;
  }
  // The flags are those of the turn's own arithmetic.
  const auto flags = core::fp::get();
  const Ref made =
      Ref::steal(op_ ? apply(*op_, given[0], given[1])
                     : PyObject_Vectorcall(object(), given.data(), arguments_.size(), nullptr));
  core::fp::set(flags);
  // The exception is raised by the program itself.
  if (!made) return PyErr_Clear(), false;
  return read(made.get(), result_, cells);
}

}  // namespace dvm::capture::numbers
