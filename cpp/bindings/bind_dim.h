// Dim as Python has it: with the context it points into, which a bare Dim does not keep alive.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "core/dims/dim.h"

namespace dvm::bindings {

struct PyDim {
  std::shared_ptr<core::DimContext> context;
  core::Dim dim;
};

void bind_dim(pybind11::module_& module);

}  // namespace dvm::bindings
