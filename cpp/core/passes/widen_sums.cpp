// The tree of sum_order.h, that of products too, may be cut at chunks, whose partial sums a target
// then stores. Stored as halves they would be rounded, which the meaning of their sum (accumulate
// in f32) forbids.
#include "core/passes/passes.h"

namespace dvm::core {

Graph pass_widen_sums(Graph graph) {
  Rewriter rewriter(graph);
  Graph& out = rewriter.graph();
  for (const Node& node : graph.nodes()) {
    if ((node.op != Op::sum && node.op != Op::prod) || !is_half(node.type.dtype)) {
      rewriter.copy_next(node);
      continue;
    }
    const DType dtype = node.type.dtype;
    const Value wide = out.cast(rewriter.map(node.inputs[0]), computes_in(dtype), node.loc);
    const Value sum = out.reduce(node.op, wide, node.attrs.axes, node.loc);
    rewriter.set_next(out.cast(sum, dtype, node.loc));
  }
  return rewriter.finish();
}

}  // namespace dvm::core
