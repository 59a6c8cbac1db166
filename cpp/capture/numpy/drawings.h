// What NumPy's generators draw number by number, by the functions of C that they call themselves.
#pragma once

#include "capture/library/library.h"

namespace dvm::capture {

std::optional<Library::Drawing> numpy_drawing_of(PyObject* method, size_t parameters);

}  // namespace dvm::capture
