#include "capture/replay/random_state.h"

#include <utility>

namespace dvm::capture {

namespace {

// How the libraries spell it: a generator's state belongs to its bit generator.
constexpr const char* kAccessors[][2] = {{"get_state", "set_state"}, {"getstate", "setstate"}};

Ref bit_generator_of(PyObject* owner) {
  Ref generator = Ref::steal(PyObject_GetAttrString(owner, "bit_generator"));
  if (!generator) PyErr_Clear();
  // The module np.random has a submodule of that name.
  if (generator && !PyObject_HasAttrString(generator.get(), "state")) return {};
  return generator;
}

Ref state_of(PyObject* owner) {
  if (Ref generator = bit_generator_of(owner)) {
    return Ref::steal(PyObject_GetAttrString(generator.get(), "state"));
  }
  for (const auto& [get, set] : kAccessors) {
    if (PyObject_HasAttrString(owner, get)) {
      return Ref::steal(PyObject_CallMethod(owner, get, nullptr));
    }
  }
  PyErr_Format(PyExc_TypeError, "%R has no random state", owner);
  return {};
}

bool set_state(PyObject* owner, PyObject* state) {
  if (Ref generator = bit_generator_of(owner)) {
    return PyObject_SetAttrString(generator.get(), "state", state) == 0;
  }
  for (const auto& [get, set] : kAccessors) {
    if (!PyObject_HasAttrString(owner, set)) continue;
    // "(O)": the state may be a tuple, which must stay one argument.
    return static_cast<bool>(Ref::steal(PyObject_CallMethod(owner, set, "(O)", state)));
  }
  return true;
}

}  // namespace

bool RandomStates::save(PyObject* owner) {
  for (const Saved& saved : saved_) {
    if (saved.owner.get() == owner) return true;
  }
  Ref state = state_of(owner);
  if (!state) return false;
  saved_.push_back({Ref::borrow(owner), std::move(state)});
  return true;
}

bool RandomStates::restore() {
  if (saved_.empty()) return true;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  // One that fails keeps none of the others from being put back.
  for (const Saved& saved : std::exchange(saved_, {})) {
    if (set_state(saved.owner.get(), saved.state.get())) continue;
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    PyErr_Fetch(&type, &value, &traceback);
  }
  const bool restored = type == nullptr;
  PyErr_Restore(type, value, traceback);
  return restored;
}

}  // namespace dvm::capture
