// The class of lazy arrays: what of it calls run often. The rest is attached by dvm.lazy.
#pragma once

#include "capture/py.h"

namespace dvm::bindings::lazy {

// New reference; null: a Python error is set.
PyObject* make_array_type();

}  // namespace dvm::bindings::lazy
