// How the memory of two arrays relates, for guards.
#pragma once

#include "capture/py.h"

namespace dvm::capture {

// Whether the bytes between first and last elements meet.
bool may_overlap(PyObject* a, PyObject* b);

// Whether they share an element, as their library finds out; of two libraries, whether the bytes
// meet.
bool share_elements(PyObject* a, PyObject* b);

// Whether both are arrays of the same elements of the same memory, in the same shape.
bool is_same_view(PyObject* a, PyObject* b);

}  // namespace dvm::capture
