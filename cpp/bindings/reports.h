// What reports read of compiled functions and graphs alike.
#pragma once

#include <pybind11/pybind11.h>

#include "driver/compile.h"

namespace dvm::bindings {

pybind11::dict decision_of(const core::Decision& decision);

// The Plan of a _dvm.CompiledGraph; null: the object is none.
const runtime::Plan* plan_of_graph(pybind11::handle object);

}  // namespace dvm::bindings
