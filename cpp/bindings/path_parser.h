// Paths from what the lowering hands over (dvm.magpy_capture.PathSpec).
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "capture/path/path.h"

namespace dvm::bindings {

// Stands for "no object" in a guard; dvm._dvm.MISSING.
PyObject* missing();

// `arguments` are those of the recorded call. A broken list of steps is an InternalError.
std::unique_ptr<capture::Path> parse_path(const pybind11::object& spec,
                                          const pybind11::tuple& arguments);

}  // namespace dvm::bindings
