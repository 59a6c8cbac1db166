// Chains fold in one walk: the operand of a cast has been replaced before the cast is seen.
#include "core/passes.h"

namespace dvm::core {

Graph pass_fold_casts(const Graph& graph) {
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::cast && graph.type(node.inputs[0]).dtype == node.type.dtype) {
      rewriter.set_next(rewriter.map(node.inputs[0]));
    } else {
      rewriter.copy_next(node);
    }
  }
  return rewriter.finish();
}

}  // namespace dvm::core
