// The reference evaluator: runs a Graph node by node on dense arrays with the scalar meanings of
// core/scalar_ops.h, in the plainest possible way. Every target and pass is compared with it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/graph.h"

namespace dvm::core {

// A dense C-ordered array.
struct Array {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
  int64_t size() const;
};
Array make_array(DType dtype, std::vector<int64_t> shape);  // zeros

// What an op `call` does: receives its arguments, returns an array of the node's dtype.
using HostFunction = std::function<Array(const std::string& callee, std::span<const Array>)>;

// `inputs` match graph.inputs() (a scalar is a rank-0 Array). Symbol values are read off the input
// shapes; throws ShapeError where an input contradicts the graph's types or a broadcast fails.
std::vector<Array> evaluate(const Graph& graph, std::span<const Array> inputs,
                            const HostFunction& host = {});

}  // namespace dvm::core
