// What the places that an index names are, before anything is written there.
#pragma once

#include "capture/py.h"

namespace dvm::capture {

// For Python:
//   check_index(array, key, value)  raises IndexError or ValueError where `array[key] = value`
//       would, with integers and arrays of integers for the first axes
//   distinct_places(array, key)  each place along the first axis once, and which of them every
//       element of the key is: array[places][inverse] is array[key]; of a tuple of keys, places
//       along as many axes
//   read_through(array, key, *writes)  array[key] for an array of places along the first axis, as
//       it is behind writes: index (integers, an int, a slice) and value of each in turn
extern PyMethodDef index_functions[];

PyObject* read_through(PyObject*, PyObject* const* given, Py_ssize_t count);

}  // namespace dvm::capture
