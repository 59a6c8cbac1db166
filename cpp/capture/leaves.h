// The callables whose Python code is not followed: a call of one is one event of the recording.
#pragma once

#include <vector>

#include "capture/py.h"

namespace dvm::capture {

std::vector<Ref> set_leaves(std::vector<Ref> callables);  // the former ones
// Whether the callable itself, the function of a bound method, or a function's code is a leaf.
bool is_leaf(PyObject* callable);

}  // namespace dvm::capture
