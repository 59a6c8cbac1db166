// Which operations can raise an IEEE status flag, and so make NumPy warn. Signalling NaNs, which
// nothing makes, do not count.
#pragma once

#include "core/graph.h"

namespace dvm::core {

// `result`: the dtype that the op computes.
bool may_raise(Op op, DType result);

}  // namespace dvm::core
