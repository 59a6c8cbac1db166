// How the memory of two arrays relates, for guards.
#pragma once

#include "capture/py.h"

namespace dvm::capture {

bool import_overlap();  // false: a Python error is set

// Whether the bytes between first and last elements meet: np.may_share_memory.
bool may_overlap(PyObject* a, PyObject* b);

// Whether they share an element: np.shares_memory, up to so much work; beyond it they do.
inline constexpr long kOverlapWork = 10'000;
bool share_elements(PyObject* a, PyObject* b);

// Whether both are arrays of the same elements of the same memory, in the same shape.
bool is_same_view(PyObject* a, PyObject* b);

}  // namespace dvm::capture
