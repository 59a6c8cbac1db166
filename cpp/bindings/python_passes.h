// Passes written in Python, as compile() runs them.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "driver/added_passes.h"

namespace dvm::bindings {

// Those of a _dvm.Passes; none of None.
std::shared_ptr<const driver::AddedPasses> passes_of(const pybind11::object& passes);

}  // namespace dvm::bindings
