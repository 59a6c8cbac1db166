// Common subexpressions, by a hash table over nodes whose operands are told apart by which came
// first. The location is no part of the key: the first of equal nodes keeps its own.
#include <algorithm>
#include <functional>
#include <unordered_set>

#include "core/passes/passes.h"

namespace dvm::core {

namespace {

// Undefined elements are written next, each array's by its own program.
bool may_merge(Op op) {
  return op != Op::input && op != Op::scalar && op != Op::empty && op_class(op) != OpClass::opaque;
}

// Of each value the first one that is the same, but of those that stay apart.
class Numbering {
 public:
  explicit Numbering(const Graph& graph) : graph_(graph) {
    numbers_.reserve(static_cast<size_t>(graph.size()));
  }

  std::vector<Value> run(const std::vector<char>& apart) {
    const auto hash = [this](Value v) { return hash_of(graph_.node(v)); };
    const auto same = [this](Value a, Value b) { return are_same(graph_.node(a), graph_.node(b)); };
    std::unordered_set<Value, decltype(hash), decltype(same)> seen(
        static_cast<size_t>(graph_.size()), hash, same);
    for (Value v = 0; v < graph_.size(); ++v) {
      const bool stays =
          !may_merge(graph_.node(v).op) || (!apart.empty() && apart[static_cast<size_t>(v)] != 0);
      numbers_.push_back(stays ? v : *seen.insert(v).first);
    }
    return std::move(numbers_);
  }

 private:
  Value number(Value v) const { return numbers_[static_cast<size_t>(v)]; }

  size_t hash_of(const Node& node) const {
    size_t h = static_cast<size_t>(node.op) * 31 + static_cast<size_t>(node.type.dtype);
    const auto mix = [&](size_t x) { h = h * 0x9E3779B97F4A7C15u + (x ^ (h >> 29)); };
    const auto mix_dim = [&](Dim dim) { mix(std::hash<const void*>()(dim.node())); };
    for (const Value v : node.inputs) mix(static_cast<size_t>(number(v)));
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

  bool are_same(const Node& a, const Node& b) const {
    const auto same = [this](Value x, Value y) { return number(x) == number(y); };
    return a.op == b.op && std::ranges::equal(a.inputs, b.inputs, same) && a.attrs == b.attrs &&
           a.type == b.type;
  }

  const Graph& graph_;
  std::vector<Value> numbers_;
};

}  // namespace

std::vector<Value> value_numbers(const Graph& graph) { return Numbering(graph).run({}); }

Graph pass_cse(Graph graph) {
  const std::vector<Value> first = Numbering(graph).run(written_memory(graph));
  const auto is_first = [&](Value v) { return first[static_cast<size_t>(v)] == v; };
  Value found = 0;
  while (found < graph.size() && is_first(found)) ++found;
  if (found == graph.size()) return graph;

  Rewriter rewriter(graph);
  for (Value v = 0; v < graph.size(); ++v) {
    if (is_first(v)) {
      rewriter.copy_next(graph.node(v));
    } else {
      rewriter.set_next(rewriter.map(first[static_cast<size_t>(v)]));
    }
  }
  return rewriter.finish();
}

}  // namespace dvm::core
