// A Recording as the plain Python data that the lowering reads.
#pragma once

#include <pybind11/pybind11.h>

#include "core/graph/recording.h"

namespace dvm::bindings {

// {"nodes": [(origin, index, name, scope, object, snapshot)...],
//  "events": [(kind, name, operands, keywords, result, (file, line), followed)...],
//  "result": node, "aborted": reason or "", "aborted_at": (file, line), "opcodes": count}
pybind11::dict to_python(const core::Recording& recording);

}  // namespace dvm::bindings
