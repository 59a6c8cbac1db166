#include "capture/replay/draws.h"

#include <algorithm>
#include <utility>

#include "capture/replay/numbers/items.h"

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

Draws::Saved* Draws::find(PyObject* owner) {
  const auto found =
      std::ranges::find_if(saved_, [&](const Saved& saved) { return saved.owner.get() == owner; });
  return found == saved_.end() ? nullptr : &*found;
}

bool Draws::begin(PyObject* owner) {
  if (find(owner) != nullptr) return true;
  Ref state = state_of(owner);
  if (!state) return false;
  saved_.push_back({Ref::borrow(owner), std::move(state)});
  return true;
}

bool Draws::restore() {
  let_go();
  if (saved_.empty()) return true;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  // Two may share a state, of which the first one has what it was. One that fails keeps none of the
  // others from being put back.
  auto all = std::exchange(saved_, {});
  for (auto saved = all.rbegin(); saved != all.rend(); ++saved) {
    if (set_state(saved->owner.get(), saved->state.get())) continue;
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    PyErr_Fetch(&type, &value, &traceback);
  }
  const bool restored = type == nullptr;
  PyErr_Restore(type, value, traceback);
  return restored;
}

bool Draws::begin_alone(PyObject* owner) {
  if (!begin(owner)) return false;
  Saved& saved = *find(owner);
  return saved.lock || lock(saved);
}

// NumPy lets other threads run while it fills an array, and holds the lock then.
bool Draws::lock(Saved& saved) {
  Ref generator = bit_generator_of(saved.owner.get());
  if (!generator) {
    generator = Ref::steal(PyObject_GetAttrString(saved.owner.get(), "_bit_generator"));
  }
  if (!generator) {  // one of Python's, which the interpreter's own lock guards
    PyErr_Clear();
    saved.lock = Ref::borrow(Py_None);
    return true;
  }
  Ref lock = Ref::steal(PyObject_GetAttrString(generator.get(), "lock"));
  if (!lock) return false;
  const Ref taken = Ref::steal(PyObject_CallMethod(lock.get(), "acquire", "O", Py_False));
  if (taken.get() != Py_True) return false;
  saved.lock = std::move(lock);
  return true;
}

void Draws::let_go() {
  for (Saved& saved : saved_) {
    const Ref lock = std::move(saved.lock);
    if (!lock || lock.get() == Py_None) continue;
    if (!Ref::steal(PyObject_CallMethod(lock.get(), "release", nullptr))) {
      PyErr_WriteUnraisable(lock.get());
    }
  }
}

PyObject* Draws::repeated(PyObject* owner) {
  const Drawn& drawn = drawn_[next_];
  if (drawn.owner != owner) {
    PyErr_SetString(PyExc_RuntimeError, "a turn draws in another order than before");
    return nullptr;
  }
  ++next_;
  return drawn.object ? Py_NewRef(drawn.object.get())
                      : numbers::object_of(drawn.type, drawn.number);
}

bool Draws::repeat(PyObject* owner, numbers::Type& type, numbers::Cell& number) {
  const Drawn& drawn = drawn_[next_];
  if (drawn.owner != owner) return false;
  if (drawn.object) {
    const auto found = numbers::number_of(drawn.object.get());
    if (!found) return false;
    type = found->first;
    number = found->second;
  } else {
    type = drawn.type;
    number = drawn.number;
  }
  ++next_;
  return true;
}

void Draws::note(PyObject* owner, PyObject* drawn) {
  drawn_.push_back({owner, {}, {.i = 0}, Ref::borrow(drawn)});
  next_ = drawn_.size();
}

}  // namespace dvm::capture
