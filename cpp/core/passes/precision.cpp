#include "core/passes/passes.h"

namespace dvm::core {

Graph pass_precision(Graph graph, Precision precision) {
  if (!has(graph, Op::matmul)) return graph;
  Rewriter rewriter(graph);
  for (Node node : graph.nodes()) {
    if (node.op == Op::matmul && node.type.dtype == DType::f32) node.attrs.precision = precision;
    rewriter.copy_next(node);
  }
  return rewriter.finish();
}

}  // namespace dvm::core
