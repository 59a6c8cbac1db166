// Whether two turns of a recorded loop did the same, told by one number.
#pragma once

#include <cstdint>

#include "capture/py.h"

namespace dvm::capture {

// Of the events [begin, end) of a recording as Python has it: equal where they are the same events
// on objects of the same kinds, each of which is met again in the same places.
int64_t shape_of_turn(PyObject* nodes, PyObject* events, Py_ssize_t begin, Py_ssize_t end);

}  // namespace dvm::capture
