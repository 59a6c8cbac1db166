// Attention, for the reference evaluator.
#pragma once

#include <span>

#include "core/reference/reference.h"

namespace dvm::core {

// Operands q, k, v and maybe a mask. A score at a time and a row at a time: its maximum, the
// exponentials of what it lies below that, their sum, and what they weigh. Row i sees rows of k up
// to i + `last`. Throws ShapeError where there are no rows of k, or none of their elements, or
// where the heads of q are no multiple of those of k.
Array attend(const Node& node, std::span<const Array* const> operands, int64_t last);

}  // namespace dvm::core
