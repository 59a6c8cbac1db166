// Values of lazy arrays for others, and lazy arrays of what others made.
#pragma once

#include "capture/py.h"

namespace dvm::bindings::lazy {

// The object with values in place of lazy arrays, in tuples, lists, dicts and slices, too; itself
// where there are none. Null: a Python error is set.
capture::Ref unwrapped(PyObject* given, const char* reason);
// A lazy array of an array or scalar of NumPy's; tuples and lists of such, named tuples, too; else
// the object itself.
capture::Ref wrapped(PyObject* made);
// array[key]
PyObject* item(PyObject* array, PyObject* key);

}  // namespace dvm::bindings::lazy
