// NumPy as a library of arrays.
#pragma once

namespace dvm::capture {

// Makes NumPy one of the libraries. False: a Python error is set.
bool import_numpy();

}  // namespace dvm::capture
