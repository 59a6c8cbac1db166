// Which left factors of products a Region makes itself, tile by tile.
#pragma once

#include <optional>

#include "fuser/grouping.h"

namespace dvm::fuser {

// Why the group of the left factor, which some Region computes, stays a Region of its own; none
// where it may become part of that of the product.
std::optional<Refusal> refuse_factor(const core::Graph& graph, const Grouping& groups,
                                     core::Value product);

}  // namespace dvm::fuser
