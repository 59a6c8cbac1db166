// Cutting a part out of a Graph.
#include "core/graph/bind_symbols.h"
#include "core/graph/graph.h"

namespace dvm::core {

Extraction extract(const Graph& graph, std::span<const Value> inputs,
                   std::span<const Value> outputs) {
  std::vector<Value> map(static_cast<size_t>(graph.size()), -1);
  const auto at = [&](Value v) -> Value& {
    if (v < 0 || v >= graph.size())
      fail(ErrorCode::graph_invalid, "value %" + std::to_string(v) + " does not exist");
    return map[static_cast<size_t>(v)];
  };
  Extraction result{Graph(graph.shared_dims()), {}, {}};
  for (const Value v : inputs) {
    Value& placed = at(v);
    const Value input = result.graph.input(graph.type(v), graph.node(v).loc);
    if (placed < 0) placed = input;
  }
  std::vector<bool> needed(static_cast<size_t>(graph.size()));
  for (const Value v : outputs) needed[static_cast<size_t>(v)] = at(v) < 0;
  for (Value v = graph.size() - 1; v >= 0; --v) {
    if (!needed[static_cast<size_t>(v)]) continue;
    for (const Value operand : graph.node(v).inputs) {
      if (at(operand) < 0) needed[static_cast<size_t>(operand)] = true;
    }
  }
  // What a call writes is written together, taken from there or not.
  for (Value v = 0; v < graph.size(); ++v) {
    const Node& node = graph.node(v);
    const bool written = node.op == Op::result && graph.node(node.inputs[0]).op == Op::call_into;
    if (written && needed[static_cast<size_t>(node.inputs[0])])
      needed[static_cast<size_t>(v)] = true;
  }
  for (Value v = 0; v < graph.size(); ++v) {
    if (!needed[static_cast<size_t>(v)]) continue;
    Node node = graph.node(v);
    if (node.op == Op::input)
      fail(ErrorCode::graph_invalid, node.loc,
           "%" + std::to_string(v) + " is needed but not among the inputs");
    if (node.op == Op::scalar) result.scalars.push_back(v);
    for (Value& operand : node.inputs) operand = at(operand);
    if (node.op == Op::result && !is_call(result.graph.node(node.inputs[0]).op))
      fail(ErrorCode::graph_invalid, node.loc,
           "%" + std::to_string(v) + " is needed, but its call is among the inputs");
    const Value made = result.graph.append(std::move(node));
    if (at(v) < 0) at(v) = made;
  }
  for (const Value v : outputs) result.graph.outputs.push_back(at(v));
  result.unbound = unbound_symbols(result.graph);
  return result;
}

}  // namespace dvm::core
