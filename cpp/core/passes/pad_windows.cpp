// For targets that copy windows: zeros around x become elements of an array.
#include <algorithm>

#include "core/passes/node_walk.h"

namespace dvm::core {

namespace {

// The node with the zeros in its second operand.
Node padded(Graph& made, Node node) {
  std::vector<int64_t>& padding = node.attrs.padding;
  const Type& type = made.type(node.inputs[1]);
  const size_t axes = padding.size() / 2, first = type.shape.size() - axes;
  Shape shape = type.shape;
  std::vector<Dim> starts(shape.size(), made.dims().constant(0));
  for (size_t d = 0; d < axes; ++d) {
    shape[first + d] = shape[first + d] + made.dims().constant(padding[d] + padding[axes + d]);
    starts[first + d] = made.dims().constant(padding[d]);
  }
  const DType dtype = type.dtype;
  const Value zero =
      made.constant(dtype, is_floating(dtype) ? Scalar::of_float(0) : Scalar(), node.loc);
  const std::vector<int64_t> steps(shape.size(), 1);
  node.inputs[1] = made.update(made.broadcast(zero, std::move(shape), node.loc), node.inputs[1],
                               std::move(starts), steps, node.loc);
  std::ranges::fill(padding, 0);
  return node;
}

}  // namespace

Graph pass_pad_windows(Graph graph) {
  NodeWalk walk(graph, "pad_windows");
  return walk.run([&](const Node& node) -> std::optional<Value> {
    const auto pads = [](int64_t zeros) { return zeros != 0; };
    if (std::ranges::none_of(node.attrs.padding, pads)) return std::nullopt;
    return walk.graph().append(padded(walk.graph(), node));
  });
}

}  // namespace dvm::core
