// When what is pending is computed: all of a buffer that the program still has, as one graph.
#pragma once

#include "bindings/lazy/flight.h"

namespace dvm::bindings::lazy {

// The array of NumPy's that it stands for, which is computed if it has to be. Borrowed; null: a
// Python error is set. `reason`: what needs it, a literal.
PyObject* value_of(Array* array, const char* reason);
// What fails stays pending, and raises when it is asked for. False: a signal raised a Python error.
bool flush(Buffer& buffer, const char* reason);

}  // namespace dvm::bindings::lazy
