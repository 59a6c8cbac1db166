// How much a call is given: calls that are given as much take about as long.
#pragma once

#include <span>

#include "capture/py.h"

namespace dvm::capture {

// The logarithm of the sizes of all arrays, containers and texts, and of the numbers that may be
// counts, multiplied. It calls no code of the program.
double load_of(std::span<PyObject* const> arguments);

}  // namespace dvm::capture
