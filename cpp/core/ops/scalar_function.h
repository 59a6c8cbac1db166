// Elementwise ops on single elements, as functions that are looked up once and called often: for
// whoever computes with numbers one at a time. Their meaning is that of scalar_ops.h.
#pragma once

#include <cstddef>

#include "core/graph/graph.h"
#include "core/ops/dtype.h"

namespace dvm::core {

// From elements in memory to one. It raises the status flags of its op.
using ScalarFunction = void (*)(const std::byte* const* operands, std::byte* result);

// `last` is the dtype of the last operand: that of all but the condition of a select. Null where
// there is none: not an elementwise op, not of this dtype, or of one that few loops of numbers
// have.
ScalarFunction scalar_function(Op op, DType last, DType result);

}  // namespace dvm::core
