// Equality as a value guard means it: the same exact type and, to the bit, the same value.
#pragma once

#include "capture/py.h"

namespace dvm::capture {

// Runs no code of the user's. Objects other than numbers, text, bytes, slices and tuples of them
// are equal to themselves alone.
bool same_literal(PyObject* a, PyObject* b);

}  // namespace dvm::capture
