#include "bindings/lazy/values.h"

#include "bindings/lazy/flush.h"
#include "bindings/lazy/record.h"

namespace dvm::bindings::lazy {

namespace {

using capture::Ref;

// The sequence with each item replaced; itself where none is another.
template <typename Replace>
Ref replaced(PyObject* sequence, Replace replace) {
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
  Ref made = Ref::steal(PyTuple_New(count));
  if (!made) return made;
  bool is_same = true;
  for (Py_ssize_t k = 0; k < count; ++k) {
    PyObject* const item = PySequence_Fast_GET_ITEM(sequence, k);
    Ref other = replace(item);
    if (!other) return other;
    is_same &= other.get() == item;
    PyTuple_SET_ITEM(made.get(), k, other.release());
  }
  if (is_same) return Ref::borrow(sequence);
  return PyTuple_Check(sequence) ? made : Ref::steal(PySequence_List(made.get()));
}

Ref unwrapped_slice(PyObject* given, const char* reason) {
  auto* slice = reinterpret_cast<PySliceObject*>(given);
  PyObject* const ends[] = {slice->start, slice->stop, slice->step};
  Ref values[3];
  bool is_same = true;
  for (int k = 0; k < 3; ++k) {
    values[k] = unwrapped(ends[k], reason);
    if (!values[k]) return {};
    is_same &= values[k].get() == ends[k];
  }
  if (is_same) return Ref::borrow(given);
  return Ref::steal(PySlice_New(values[0].get(), values[1].get(), values[2].get()));
}

Ref unwrapped_dict(PyObject* given, const char* reason) {
  Ref made = Ref::steal(PyDict_New());
  PyObject *key = nullptr, *item = nullptr;
  for (Py_ssize_t at = 0; made && PyDict_Next(given, &at, &key, &item) != 0;) {
    const Ref value = unwrapped(item, reason);
    if (!value || PyDict_SetItem(made.get(), key, value.get()) < 0) return {};
  }
  return made;
}

}  // namespace

Ref unwrapped(PyObject* given, const char* reason) {
  if (is_array(given)) {
    PyObject* const value = value_of(as_array(given), reason);
    return Ref::borrow(value);
  }
  if (PyTuple_CheckExact(given) || PyList_CheckExact(given)) {
    return replaced(given, [&](PyObject* item) { return unwrapped(item, reason); });
  }
  if (PySlice_Check(given)) return unwrapped_slice(given, reason);
  if (PyDict_CheckExact(given)) return unwrapped_dict(given, reason);
  return Ref::borrow(given);
}

Ref wrapped(PyObject* made) {
  if (PyArray_Check(made) || PyArray_IsScalar(made, Generic)) {
    const Ref array = Ref::steal(PyArray_FROM_OF(made, NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED));
    return array ? Ref::steal(wrap(array.get())) : Ref();
  }
  if (!PyTuple_Check(made) && !PyList_CheckExact(made)) return Ref::borrow(made);
  Ref items = replaced(made, wrapped);
  const bool is_named = items && PyTuple_Check(made) && !PyTuple_CheckExact(made);
  // The named tuples of unique_all, eigh and the like stay what they are.
  if (is_named && items.get() != made) {
    return Ref::steal(PyObject_CallObject(reinterpret_cast<PyObject*>(Py_TYPE(made)), items.get()));
  }
  return items;
}

PyObject* item(PyObject* self, PyObject* key) {
  Array* array = as_array(self);
  if (array->is_pending()) {
    Ref view = Ref::steal(part(self, key));
    if (!view || view.get() != Py_None) return view.release();
  }
  const Ref places = unwrapped(key, "an index");
  if (!places) return nullptr;
  const Ref value = Ref::borrow(value_of(array, "an index"));
  if (!value) return nullptr;
  const Ref found = Ref::steal(PyObject_GetItem(value.get(), places.get()));
  return found ? wrapped(found.get()).release() : nullptr;
}

}  // namespace dvm::bindings::lazy
