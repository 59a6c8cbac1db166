// The ops of class whole that work along one axis, for the reference evaluator.
#pragma once

#include <span>

#include "core/reference/reference.h"

namespace dvm::core {

// Throws ShapeError where an index is out of range or there is nothing to take the maximum of.
Array evaluate_along(const Node& node, std::span<const Array* const> operands);

}  // namespace dvm::core
