// What the passes share: copying a Graph node by node under a renaming of its values, and whose
// memory the program may write to.
#include <algorithm>

#include "core/passes/passes.h"

namespace dvm::core {

bool has(const Graph& graph, Op op) {
  return std::ranges::any_of(graph.nodes(), [op](const Node& node) { return node.op == op; });
}

std::vector<char> written_memory(const Graph& graph) {
  std::vector<char> written(static_cast<size_t>(graph.size()), 0);
  const auto mark = [&](Value v) {
    written[static_cast<size_t>(v)] = 1;
    while (op_class(graph.node(v).op) == OpClass::view) {
      v = graph.node(v).inputs[0];
      written[static_cast<size_t>(v)] = 1;
    }
  };
  for (const Value v : graph.outputs) mark(v);
  for (const Node& node : graph.nodes()) {
    if (replaces_elements(node.op)) mark(node.inputs[0]);
  }
  return written;
}

std::vector<char> looked_at(const Graph& graph) {
  std::vector<char> looked = written_memory(graph);
  for (const Node& node : graph.nodes()) {
    if (op_class(node.op) != OpClass::view && !is_call(node.op)) continue;
    for (const Value v : arrays_of(node)) looked[static_cast<size_t>(v)] = 1;
  }
  return looked;
}

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
