// NumPy's error state (np.geterr), which lives in a context variable.
#pragma once

#include "capture/py.h"

namespace dvm::capture {

bool import_errstate();  // false: a Python error is set

// What np.geterr() says: four strings, for divide, over, under and invalid. Borrowed; null: a
// Python error is set. An unchanged state costs one look at the context variable.
PyObject* error_modes();

// Has NumPy raise in the present context whatever the program did not tell it to ignore, as of the
// last error_modes(). False: a Python error is set.
bool raise_errors();

}  // namespace dvm::capture
