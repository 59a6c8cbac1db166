// Functions in Python that only call another with the arguments they were given, once they have
// looked whether there is more to do: `nn.Module.__call__` calls `forward`. A recording leaves
// their bodies out: the call that runs one enters the function that it leads to.
#pragma once

#include <utility>
#include <vector>

#include "capture/py.h"

namespace dvm::capture {

// A function, and what says of its first argument where it leads: asks(self) gives a function of
// Python, or None where there is more to do.
struct Trampoline {
  Ref function, asks;
};

std::vector<Trampoline> set_trampolines(std::vector<Trampoline> all);  // the former ones
bool is_trampoline(PyObject* function);
// Where the function, about to run on `self`, leads; null: it is no trampoline, or does more.
Ref leads_to(PyObject* function, PyObject* self);

}  // namespace dvm::capture
