// Numbers that change from trip to trip, in memory: as literals of a Region each would be a Program
// of its own.
#include <algorithm>

#include "core/graph/bind_symbols.h"
#include "core/passes/passes.h"

namespace dvm::core {

namespace {

class StoredDims {
 public:
  explicit StoredDims(const Graph& from) : from_(from), rewriter_(from) {
    for (const Node& node : from.nodes()) {
      if (node.op == Op::scalar && node.attrs.size)
        changing_.push_back(node.attrs.size.symbol_index());
    }
  }

  Graph run() {
    for (Value v = 0; v < from_.size(); ++v) {
      const Node& node = from_.node(v);
      const bool is_number = (node.op == Op::dim || node.op == Op::scalar) && node.attrs.size;
      if (is_number && node.type.dtype != DType::boolean && changes(node.attrs.size)) {
        store(v);
      } else {
        copy(node);
      }
    }
    return rewriter_.finish();
  }

 private:
  bool changes(Dim size) const {
    const std::vector<int> symbols = symbols_of(size);
    return std::ranges::any_of(symbols, [&](int symbol) {
      return std::ranges::find(changing_, symbol) != changing_.end();
    });
  }

  // Behind an argument, which stays.
  void store(Value v) {
    Node node = from_.node(v);
    if (node.op == Op::scalar) arguments_.push_back({v, rewriter_.graph().append(node)});
    node.op = Op::stored_dim;
    rewriter_.set_next(rewriter_.graph().append(std::move(node)));
  }

  // A function of the host takes numbers as they are.
  void copy(const Node& node) {
    Node copy = rewriter_.mapped(node);
    for (size_t k = arrays_of(node).size(); k < node.inputs.size(); ++k) {
      const auto is = [&](const Argument& argument) { return argument.old == node.inputs[k]; };
      const auto found = std::ranges::find_if(arguments_, is);
      if (found != arguments_.end()) copy.inputs[k] = found->kept;
    }
    rewriter_.set_next(rewriter_.graph().append(std::move(copy)));
  }

  struct Argument {
    Value old, kept;
  };
  const Graph& from_;
  Rewriter rewriter_;
  std::vector<int> changing_;  // symbols
  std::vector<Argument> arguments_;
};

}  // namespace

Graph pass_stored_dims(const Graph& body) { return StoredDims(body).run(); }

Graph stored_scalars(const Graph& graph, std::span<const Value> scalars) {
  Rewriter rewriter(graph);
  for (Value v = 0; v < graph.size(); ++v) {
    Node node = rewriter.mapped(graph.node(v));
    if (std::ranges::find(scalars, v) != scalars.end()) {
      DVM_CHECK(node.op == Op::scalar && !node.attrs.size, "no scalar, or one that tells a size");
      node.op = Op::input;
    }
    rewriter.set_next(rewriter.graph().append(std::move(node)));
  }
  return rewriter.finish();
}

}  // namespace dvm::core
