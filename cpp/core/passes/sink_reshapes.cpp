// Sums keep their axes as sizes of 1, and a reshape drops these. What is then computed with scalars
// alone (a mean, a variance) is computed before that reshape, so that it can join the Region of the
// sum: no Region holds views.
#include "core/passes/node_walk.h"

namespace dvm::core {

namespace {

Shape without_ones(const Graph& graph, const Shape& shape) {
  Shape kept;
  for (const Dim dim : shape) {
    if (dim != graph.dims().constant(1)) kept.push_back(dim);
  }
  return kept;
}

class Sinker {
 public:
  explicit Sinker(const Graph& from)
      : updated_(static_cast<size_t>(from.size()), 0),
        walk_(from, "sink_reshapes"),
        graph_(walk_.graph()) {
    for (const Node& node : from.nodes()) {
      if (replaces_elements(node.op)) updated_[static_cast<size_t>(node.inputs[0])] = 1;
    }
  }

  Graph run() {
    return walk_.run([this](const Node& node) -> std::optional<Value> {
      if (updated_[static_cast<size_t>(walk_.old())]) return std::nullopt;
      const Value source = common_source(node);
      return source < 0 ? std::nullopt : std::optional(sunk(node, source));
    });
  }

 private:
  bool only_drops_ones(const Node& node) const {
    return node.op == Op::reshape && without_ones(graph_, node.type.shape) ==
                                         without_ones(graph_, graph_.type(node.inputs[0]).shape);
  }
  // The scalar that a value repeats, or -1.
  Value scalar_of(Value v) const {
    if (graph_.node(v).op == Op::broadcast) v = graph_.node(v).inputs[0];
    const Node& node = graph_.node(v);
    return is_number(node.op) ? v : -1;
  }

  // What the first reshape among the operands of an elementwise node is of, where the others are
  // reshapes of the same shape, or scalars.
  Value common_source(const Node& node) const {
    if (op_class(node.op) != OpClass::elementwise) return -1;
    Value first = -1;
    for (const Value v : node.inputs) {
      const Node& operand = graph_.node(v);
      if (scalar_of(v) >= 0) continue;
      if (!only_drops_ones(operand)) return -1;
      const Value source = operand.inputs[0];
      const OpClass made_by = op_class(graph_.node(source).op);
      if (made_by != OpClass::reduce && made_by != OpClass::elementwise) return -1;
      if (first < 0) first = source;
      if (graph_.type(source).shape != graph_.type(first).shape) return -1;
    }
    return first;
  }

  Value sunk(const Node& node, Value source) {
    const Shape shape = graph_.type(source).shape;
    Node moved = node;
    for (Value& v : moved.inputs) {
      const Value scalar = scalar_of(v);
      v = scalar < 0 ? graph_.node(v).inputs[0] : graph_.broadcast(scalar, shape, node.loc);
    }
    moved.type.shape = shape;
    return graph_.reshape(graph_.append(std::move(moved)), node.type.shape, node.loc);
  }

  std::vector<char> updated_;  // whether the program writes to it
  NodeWalk walk_;
  Graph& graph_;
};

}  // namespace

Graph pass_sink_reshapes(Graph graph) {
  if (!has(graph, Op::reshape)) return graph;
  return Sinker(graph).run();
}

}  // namespace dvm::core
