// How many items an iterator still has, told without running code of the program's.
#pragma once

#include "capture/py.h"

namespace dvm::capture {

// Of iterators over ranges, lists, tuples, arrays and texts, and of `enumerate` and `zip` of them;
// -1: of any other.
int64_t turns_left(PyObject* iterator);

// Whether it is one over a str, or bytes.
bool is_text_iterator(PyObject* iterator);

}  // namespace dvm::capture
