#include "capture/replay/random_state.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace dvm::capture {

namespace {

// How the libraries spell it: a generator's state belongs to its bit generator.
constexpr const char* kAccessors[][2] = {{"get_state", "set_state"}, {"getstate", "setstate"}};

const char* const* accessors_of(PyObject* owner) {
  for (const auto& each : kAccessors) {
    if (PyObject_HasAttrString(owner, each[0])) return each;
  }
  return nullptr;
}

Ref state_of(PyObject* owner) {
  if (const char* const* accessors = accessors_of(owner)) {
    return Ref::steal(PyObject_CallMethod(owner, accessors[0], nullptr));
  }
  if (Ref generator = bit_generator_of(owner)) {
    return Ref::steal(PyObject_GetAttrString(generator.get(), "state"));
  }
  PyErr_Format(PyExc_TypeError, "%R has no random state", owner);
  return {};
}

bool set_state(PyObject* owner, PyObject* state) {
  if (const char* const* accessors = accessors_of(owner)) {
    // "(O)": the state may be a tuple, which must stay one argument.
    return static_cast<bool>(Ref::steal(PyObject_CallMethod(owner, accessors[1], "(O)", state)));
  }
  const Ref generator = bit_generator_of(owner);
  return !generator || PyObject_SetAttrString(generator.get(), "state", state) == 0;
}

// ---- random.Random: words that its base, written in C, has beyond the header, and the second
// normal of a pair, an attribute

constexpr const char* kSpare = "gauss_next";

std::span<std::byte> beyond_header(PyObject* random, const PyTypeObject& base) {
  return {reinterpret_cast<std::byte*>(random) + sizeof(PyObject),
          static_cast<size_t>(base.tp_basicsize) - sizeof(PyObject)};
}

// Whether one draws again what it drew when these bytes are put back, more of them than it makes at
// once.
bool draws_again(PyTypeObject* type) {
  PyTypeObject* const base = type->tp_base;
  if (base == &PyBaseObject_Type || base->tp_base != &PyBaseObject_Type ||
      base->tp_dictoffset != 0 || base->tp_weaklistoffset != 0 || base->tp_itemsize != 0 ||
      PyType_IS_GC(base)) {
    return false;
  }
  const Ref random = Ref::steal(PyObject_CallFunction(reinterpret_cast<PyObject*>(type), "i", 5));
  if (!random) return false;
  const auto draw = [&] {
    return Ref::steal(PyObject_CallMethod(random.get(), "getrandbits", "i", 64'000));
  };
  const std::span<std::byte> state = beyond_header(random.get(), *base);
  const std::vector<std::byte> kept(state.begin(), state.end());
  const Ref first = draw();
  std::ranges::copy(kept, state.begin());
  const Ref second = draw();
  return first && second && PyObject_RichCompareBool(first.get(), second.get(), Py_EQ) == 1;
}

// The class, where its bytes are known; null: they are not.
PyTypeObject* type_of_pythons() {
  const Ref module = Ref::steal(PyImport_ImportModule("random"));
  PyObject* const type = module ? PyObject_GetAttrString(module.get(), "Random") : nullptr;
  const bool is_known = type != nullptr && draws_again(reinterpret_cast<PyTypeObject*>(type));
  PyErr_Clear();
  return is_known ? reinterpret_cast<PyTypeObject*>(type) : nullptr;
}

Library::RandomState place_of(PyObject* owner) {
  static PyTypeObject* const pythons = type_of_pythons();
  if (Py_IS_TYPE(owner, pythons)) {
    return {Ref::borrow(owner), {beyond_header(owner, *pythons->tp_base), {}}};
  }
  for (const Library* library : libraries()) {
    if (auto place = library->random_state_of(owner); place.holder) return place;
  }
  return {};
}

}  // namespace

Ref bit_generator_of(PyObject* owner) {
  Ref generator = Ref::steal(PyObject_GetAttrString(owner, "bit_generator"));
  if (!generator) PyErr_Clear();
  // The module np.random has a submodule of that name.
  if (generator && !PyObject_HasAttrString(generator.get(), "state")) return {};
  return generator;
}

std::optional<RandomState> RandomState::of(PyObject* owner) {
  RandomState made;
  made.place_ = place_of(owner);
  for (const auto& part : made.place_.bytes) {
    made.bytes_.insert(made.bytes_.end(), part.begin(), part.end());
  }
  // One of Python's is its own place.
  if (!made.place_.holder) {
    made.object_ = state_of(owner);
    if (!made.object_) return std::nullopt;
  } else if (made.place_.holder.get() == owner) {
    made.object_ = Ref::steal(PyObject_GetAttrString(owner, kSpare));
    if (!made.object_) return std::nullopt;
  }
  return made;
}

bool RandomState::put_back(PyObject* owner) const {
  if (!place_.holder) return set_state(owner, object_.get());
  const std::byte* from = bytes_.data();
  for (const auto& part : place_.bytes) {
    std::copy_n(from, part.size(), part.data());
    from += part.size();
  }
  return !object_ || PyObject_SetAttrString(owner, kSpare, object_.get()) == 0;
}

}  // namespace dvm::capture
