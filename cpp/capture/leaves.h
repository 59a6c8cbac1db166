// The callables whose Python code is not followed: a call of one is one event of the recording.
#pragma once

#include <vector>

#include "capture/py.h"

namespace dvm::capture {

void set_leaves(std::vector<Ref> callables);
// Whether the callable itself, the function of a bound method, or a function's code is a leaf.
bool is_leaf(PyObject* callable);

}  // namespace dvm::capture
