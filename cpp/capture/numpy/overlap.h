// Whether two arrays of NumPy's share an element.
#pragma once

#include "capture/py.h"

namespace dvm::capture {

bool import_overlap();  // false: a Python error is set

// np.shares_memory, up to so much work; beyond it they do.
inline constexpr long kOverlapWork = 10'000;
bool shares_memory(PyObject* a, PyObject* b);

}  // namespace dvm::capture
