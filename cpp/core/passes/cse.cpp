// Common subexpressions, by a hash table over nodes whose operands are merged already. The location
// is no part of the key: the first of equal nodes keeps its own.
#include <functional>
#include <unordered_map>

#include "core/passes/passes.h"

namespace dvm::core {

namespace {

struct NodeHash {
  size_t operator()(const Node& node) const {
    size_t h = static_cast<size_t>(node.op) * 31 + static_cast<size_t>(node.type.dtype);
    const auto mix = [&](size_t x) { h = h * 0x9E3779B97F4A7C15u + (x ^ (h >> 29)); };
    const auto mix_dim = [&](Dim dim) { mix(std::hash<const void*>()(dim.node())); };
    for (const Value v : node.inputs) mix(static_cast<size_t>(v));
    mix(static_cast<size_t>(node.attrs.value.bits()));
    mix_dim(node.attrs.size);
    mix(static_cast<size_t>(node.attrs.scale.bits()));
    mix_dim(node.attrs.causal);
    mix_dim(node.attrs.count);
    mix(static_cast<size_t>(node.attrs.precision));
    for (const int axis : node.attrs.axes) mix(static_cast<size_t>(axis));
    for (const Dim start : node.attrs.starts) mix_dim(start);
    for (const auto* numbers :
         {&node.attrs.steps, &node.attrs.window, &node.attrs.dilations, &node.attrs.padding}) {
      for (const int64_t number : *numbers) mix(static_cast<size_t>(number));
    }
    for (const Dim dim : node.type.shape) mix_dim(dim);
    return h;
  }
};

struct SameNode {
  bool operator()(const Node& a, const Node& b) const {
    return a.op == b.op && a.inputs == b.inputs && a.attrs == b.attrs && a.type == b.type;
  }
};

// Undefined elements are written next, each array's by its own program.
bool may_merge(Op op) {
  return op != Op::input && op != Op::scalar && op != Op::empty && op_class(op) != OpClass::opaque;
}

}  // namespace

std::vector<Value> value_numbers(const Graph& graph) {
  std::vector<Value> numbers;
  std::unordered_map<Node, Value, NodeHash, SameNode> seen;
  for (Value v = 0; v < graph.size(); ++v) {
    Node node = graph.node(v);
    if (!may_merge(node.op)) {
      numbers.push_back(v);
      continue;
    }
    for (Value& operand : node.inputs) operand = numbers[static_cast<size_t>(operand)];
    numbers.push_back(seen.try_emplace(std::move(node), v).first->second);
  }
  return numbers;
}

Graph pass_cse(Graph graph) {
  Rewriter rewriter(graph);
  const std::vector<char> written = written_memory(graph);
  std::unordered_map<Node, Value, NodeHash, SameNode> seen;
  for (Value v = 0; v < graph.size(); ++v) {
    const Node& node = graph.node(v);
    if (!may_merge(node.op) || written[static_cast<size_t>(v)]) {
      rewriter.copy_next(node);
      continue;
    }
    const auto [it, fresh] = seen.try_emplace(rewriter.mapped(node), -1);
    if (fresh) it->second = rewriter.graph().append(it->first);
    rewriter.set_next(it->second);
  }
  return rewriter.finish();
}

}  // namespace dvm::core
