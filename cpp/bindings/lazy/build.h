// Pending nodes as a Graph.
#pragma once

#include <span>

#include "bindings/lazy/buffer.h"

namespace dvm::bindings::lazy {

// Outputs are the nodes that arrays of the program are. Each of `sizes` is a symbol: all sizes of
// leaves are among them, or 1.
core::Graph build(std::span<const Node> nodes, std::span<const int64_t> sizes);

}  // namespace dvm::bindings::lazy
