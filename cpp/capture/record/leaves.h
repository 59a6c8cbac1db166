// The callables whose Python code is not followed: a call of one is one event of the recording.
#pragma once

#include <string>
#include <vector>

#include "capture/py.h"

namespace dvm::capture {

std::vector<Ref> set_leaves(std::vector<Ref> callables);  // the former ones
// Packages, by name, of which every function written in Python is a leaf.
void set_leaf_packages(std::vector<std::string> names);
// Whether the callable itself, the function of a bound method, or a function's code or package is a
// leaf.
bool is_leaf(PyObject* callable);
// Whether it is one of those that were told one by one, itself or by its code.
bool is_known_leaf(PyObject* callable);

}  // namespace dvm::capture
