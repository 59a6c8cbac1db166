// What a path knows an object by without keeping it alive.
#pragma once

#include "capture/py.h"

namespace dvm::capture {

// A weak reference of a type of its own, so that the program's are told from it; or where the
// object's type has none, the object.
Ref known_as(PyObject* object);
bool is_known_as(const void* reference);

// The object, borrowed; null: it is no more.
inline PyObject* still_there(PyObject* known) {
  if (known == nullptr || !is_known_as(known)) return known;
  PyObject* object = PyWeakref_GET_OBJECT(known);
  return object == Py_None ? nullptr : object;
}

}  // namespace dvm::capture
