// Liveness backwards over the node list, then one copy of what is live.
#include <algorithm>

#include "core/passes/passes.h"

namespace dvm::core {

Graph pass_dead_code(Graph graph) {
  std::vector<bool> live(static_cast<size_t>(graph.size()));
  for (const Value v : graph.outputs) live[static_cast<size_t>(v)] = true;
  for (Value v = graph.size() - 1; v >= 0; --v) {
    const Node& node = graph.node(v);
    const bool kept =
        node.op == Op::input || node.op == Op::scalar || op_class(node.op) == OpClass::opaque;
    if (kept) live[static_cast<size_t>(v)] = true;
    if (!live[static_cast<size_t>(v)]) continue;
    for (const Value operand : node.inputs) live[static_cast<size_t>(operand)] = true;
  }
  if (std::ranges::find(live, false) == live.end()) return graph;

  Rewriter rewriter(graph);
  for (Value v = 0; v < graph.size(); ++v) {
    if (live[static_cast<size_t>(v)]) {
      rewriter.copy_next(graph.node(v));
    } else {
      rewriter.set_next(-1);
    }
  }
  return rewriter.finish();
}

}  // namespace dvm::core
