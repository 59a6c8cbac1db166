// Where NumPy's generators of random numbers keep their states. NumPy gives a state as a dict,
// which of the global generator takes longer than many draws.
#pragma once

#include "capture/library/library.h"

namespace dvm::capture {

Library::RandomState numpy_random_state_of(PyObject* generator);

}  // namespace dvm::capture
