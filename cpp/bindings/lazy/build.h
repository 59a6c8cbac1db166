// Pending nodes as a Graph.
#pragma once

#include <span>

#include "bindings/lazy/buffer.h"

namespace dvm::bindings::lazy {

// Of the nodes of a graph: each is a symbol. Those that no leaf has are told by a number, ahead of
// all other numbers.
struct Sizes {
  std::vector<int64_t> all;
  std::vector<char> is_told;  // by a leaf
};
// All others are among them.
inline bool is_constant(int64_t size) { return size == 0 || size == 1; }

// Outputs are the nodes that arrays of the program are.
core::Graph build(std::span<const Node> nodes, const Sizes& sizes);

}  // namespace dvm::bindings::lazy
