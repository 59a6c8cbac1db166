// What the passes share: copying a Graph node by node under a renaming of its values.
#include "core/passes.h"

namespace dvm::core {

Node Rewriter::mapped(const Node& node) const {
  Node copy = node;
  for (Value& operand : copy.inputs) operand = map(operand);
  return copy;
}

Graph Rewriter::finish() {
  for (const Value v : from_.outputs) graph_.outputs.push_back(map(v));
  return std::move(graph_);
}

}  // namespace dvm::core
