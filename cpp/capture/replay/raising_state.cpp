#include "capture/replay/raising_state.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dvm::capture {

namespace {

bool same_strings(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i) {
    PyObject *one = PyTuple_GET_ITEM(a, i), *other = PyTuple_GET_ITEM(b, i);
    if (one != other && PyUnicode_Compare(one, other) != 0) return false;
  }
  return true;
}

}  // namespace

bool RaisingState::program_has(PyObject* wanted) const {
  for (const Library* library : libraries()) {
    PyObject* present =
        entered_ ? PyTuple_GET_ITEM(states_.get(), library->number) : library->state();
    if (present == nullptr) return false;
    if (same_strings(wanted, present)) return true;
  }
  return false;
}

// In a context of its own, which can be left when there is no memory to set anything back.
bool RaisingState::set() {
  Ref states = Ref::steal(PyTuple_New(std::ssize(libraries())));
  if (!states) return false;
  for (const Library* library : libraries()) {
    PyObject* const state = Py_XNewRef(library->state());
    if (state == nullptr) return false;
    PyTuple_SET_ITEM(states.get(), static_cast<Py_ssize_t>(library->number), state);
  }
  states_ = std::move(states);
  Ref context = Ref::steal(PyContext_CopyCurrent());
  if (!context || PyContext_Enter(context.get()) < 0) return false;
  context_ = std::move(context);
  const auto raises = [](const Library* library) { return library->raise_instead(); };
  entered_ = std::ranges::all_of(libraries(), raises) && warnings_.enter();
  return entered_;
}

void RaisingState::reset() {
  if (entered_) warnings_.leave();
  // Called with an exception pending, too.
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (PyContext_Exit(context_.get()) < 0) PyErr_Clear();
  context_ = {};
  PyErr_Restore(type, value, traceback);
}

}  // namespace dvm::capture
