#include "capture/replay/numbers/draw_step.h"

#include <algorithm>
#include <array>

#include "capture/replay/numbers/items.h"
#include "core/ops/fp_flags.h"

namespace dvm::capture::numbers {

namespace {

// The object of which it is a method, if that is code of C: others may run anything.
PyObject* owner_of(PyObject* method) {
  if (PyCFunction_Check(method)) return PyCFunction_GET_SELF(method);
  if (!PyMethod_Check(method) || PyFunction_Check(PyMethod_GET_FUNCTION(method))) return nullptr;
  return PyMethod_GET_SELF(method);
}

std::optional<double> float_of(Type type, Cell number) {
  switch (type.kind) {
    case Kind::floating:
      return number.f;
    case Kind::integer:
    case Kind::boolean:
      return static_cast<double>(number.i);
    case Kind::element:
      if (type.dtype == core::DType::f64) return number.f;
      return {};
    default:
      return {};
  }
}

}  // namespace

bool DrawStep::is_for(PyObject* method) {
  owner_ = owner_of(method);
  drawing_.reset();
  if (owner_ == nullptr || arguments_.size() > kMost) return false;
  for (const Library* library : libraries()) {
    if (drawing_ || names_ != nullptr) continue;
    drawing_ = library->drawing_of(method, arguments_.size());
    const bool is_element = drawing_ && drawing_->integer != nullptr;
    drawn_ = is_element
                 ? Type{Kind::element, core::DType::i64, static_cast<uint16_t>(library->number)}
                 : Type{Kind::floating};
  }
  return true;
}

bool DrawStep::run(Cell* cells) {
  Draws& draws = attempt_.draws();
  Type type;
  Cell number{.i = 0};
  // The flags are those of the turn's own arithmetic.
  const auto flags = core::fp::get();
  const bool is_drawn = draws.repeats() ? draws.repeat(owner_, type, number)
                                        : draws.begin_alone(owner_) && draw(cells, type, number);
  core::fp::set(flags);
  // The exception is raised by the program itself.
  if (!is_drawn) return PyErr_Clear(), false;
  cells[result_.cell] = number;
  cells[result_.type].i = word_of(type);
  return true;
}

bool DrawStep::draw(const Cell* cells, Type& type, Cell& number) {
  if (!drawing_) return draw_by_method(cells, type, number);
  std::array<double, kMost> parameters{};
  std::ranges::copy(drawing_->defaults, parameters.begin());
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const auto given = float_of(arguments_[i].type, cells[arguments_[i].cell]);
    if (!given) return draw_by_method(cells, type, number);
    parameters[i] = *given;
  }
  const bool is_drawn = drawing_->integer != nullptr
                            ? drawing_->integer(drawing_->state, parameters.data(), number.i)
                            : drawing_->function(drawing_->state, parameters.data(), number.f);
  if (!is_drawn) return false;
  type = drawn_;
  attempt_.draws().note(owner_, type, number);
  return true;
}

bool DrawStep::draw_by_method(const Cell* cells, Type& type, Cell& number) {
  std::array<Ref, kMost> held;
  std::array<PyObject*, kMost> given{};
  for (size_t i = 0; i < arguments_.size(); ++i) {
    held[i] = Ref::steal(object_of(arguments_[i].type, cells[arguments_[i].cell]));
    given[i] = held[i].get();
    if (!held[i]) return false;
  }
  const size_t named = names_ ? static_cast<size_t>(PyTuple_GET_SIZE(names_)) : 0;
  const Ref made =
      Ref::steal(PyObject_Vectorcall(object(), given.data(), arguments_.size() - named, names_));
  if (!made) return false;
  const auto found = number_of(made.get());
  if (!found) return attempt_.draws().note(owner_, made.get()), false;
  type = found->first;
  number = found->second;
  attempt_.draws().note(owner_, type, number);
  return true;
}

}  // namespace dvm::capture::numbers
