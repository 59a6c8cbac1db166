// For targets that copy windows: zeros around x become elements of an array.
#include <algorithm>

#include "core/passes/passes.h"

namespace dvm::core {

Graph pass_pad_windows(const Graph& graph) {
  Rewriter rewriter(graph);
  Graph& made = rewriter.graph();
  for (const Node& old : graph.nodes()) {
    Node node = rewriter.mapped(old);
    std::vector<int64_t>& padding = node.attrs.padding;
    if (std::ranges::any_of(padding, [](int64_t zeros) { return zeros != 0; })) {
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
    }
    rewriter.set_next(made.append(std::move(node)));
  }
  return rewriter.finish();
}

}  // namespace dvm::core
