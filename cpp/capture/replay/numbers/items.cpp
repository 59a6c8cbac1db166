#include "capture/replay/numbers/turn.h"

namespace dvm::capture::numbers {

namespace {

// A number attribute of a range.
bool read(PyObject* range, const char* name, int64_t& value) {
  const Ref attribute = Ref::steal(PyObject_GetAttrString(range, name));
  int overflow = 1;
  if (attribute) value = PyLong_AsLongLongAndOverflow(attribute.get(), &overflow);
  return overflow == 0 && !PyErr_Occurred();
}

}  // namespace

void Items::count() {
  if (counts_ || !exist() || Py_TYPE(iterator_) != &PyRangeIter_Type) return;
  // (iter, (range,), how many were taken)
  const Ref state = Ref::steal(PyObject_CallMethod(iterator_, "__reduce__", nullptr));
  if (state && PyTuple_GET_SIZE(state.get()) == 3) {
    PyObject* const range = PyTuple_GET_ITEM(PyTuple_GET_ITEM(state.get(), 1), 0);
    const int64_t taken = PyLong_AsLongLong(PyTuple_GET_ITEM(state.get(), 2));
    const int64_t length = PyObject_Size(range);
    int64_t start = 0;
    counts_ = read(range, "start", start) && read(range, "step", step_);
    value_ = start + taken * step_;
    left_ = length - taken;
  }
  PyErr_Clear();
}

bool Items::next(Variable& item) {
  if (counts_) {
    if (left_ == 0) return false;
    item.type = Type{Kind::integer};
    item.number.i = value_;
    // Behind the last one it might overflow.
    if (--left_ > 0) value_ += step_;
    return true;
  }
  const Ref next = Ref::steal(PyIter_Next(iterator_));
  if (next) item = variable_of(next.get());
  return static_cast<bool>(next);
}

Ref Items::next_object() {
  if (!counts_) return Ref::steal(PyIter_Next(iterator_));
  Variable item;
  return next(item) ? Ref::steal(PyLong_FromLongLong(item.number.i)) : Ref();
}

}  // namespace dvm::capture::numbers
