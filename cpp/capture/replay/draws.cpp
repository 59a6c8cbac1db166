#include "capture/replay/draws.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "capture/replay/numbers/items.h"

namespace dvm::capture {

Draws::Saved* Draws::find(PyObject* owner) {
  const auto found =
      std::ranges::find_if(saved_, [&](const Saved& saved) { return saved.owner.get() == owner; });
  return found == saved_.end() ? nullptr : &*found;
}

bool Draws::begin(PyObject* owner) {
  if (find(owner) != nullptr) return true;
  std::optional<RandomState> state = RandomState::of(owner);
  if (!state) return false;
  saved_.push_back({Ref::borrow(owner), std::move(*state)});
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
    if (saved->state.put_back(saved->owner.get())) continue;
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
