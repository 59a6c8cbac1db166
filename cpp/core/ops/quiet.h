// Which operations can raise an IEEE status flag, and so make NumPy warn. Signalling NaNs do not
// count: few things make them (NumPy's sort of halves), and arithmetic warns of them in any case.
#pragma once

#include "core/graph/graph.h"

namespace dvm::core {

// `result`: the dtype that the op computes.
bool may_raise(Op op, DType result);

}  // namespace dvm::core
