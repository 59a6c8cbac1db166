// Loops and branches with all that belongs to them, for whoever builds Graphs.
#include <algorithm>

#include "core/graph/bind_symbols.h"
#include "core/graph/bodies.h"

namespace dvm::core {

namespace {

// Symbols that no argument of a body tells become arguments of all.
std::vector<Dim> sizes_for(std::span<Graph* const> bodies) {
  std::vector<Dim> sizes;
  for (const Graph* body : bodies) {
    for (const int symbol : missing_symbols(*body)) {
      const Dim size = body->dims().symbol_at(symbol);
      if (std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
    }
  }
  for (Graph* body : bodies) {
    for (const Dim size : sizes) body->scalar(DType::i64, {}, size);
  }
  return sizes;
}

Dim new_symbol(DimContext& dims) {
  for (int number = dims.symbol_count();; ++number) {
    const std::string name = "u" + std::to_string(number);
    if (!dims.find_symbol(name)) return dims.symbol(name);
  }
}

// Where all have the size, that; else one that is told when it is there. So is one of symbols that
// the graph does not have: they are a body's own.
Type joined(const Graph& graph, const Type& first, std::span<const Type> others) {
  const std::vector<int> known = used_symbols(graph);
  const auto is_unknown = [&](int symbol) {
    return std::ranges::find(known, symbol) == known.end();
  };
  Type type = first;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    const auto differs = [&](const Type& other) {
      return other.shape.size() == type.shape.size() && other.shape[d] != first.shape[d];
    };
    if (std::ranges::any_of(others, differs) ||
        std::ranges::any_of(symbols_of(first.shape[d]), is_unknown))
      type.shape[d] = new_symbol(graph.dims());
  }
  return type;
}

}  // namespace

std::vector<Value> add_loop(Graph& graph, Graph body, std::span<const Value> carried,
                            std::span<const Value> used, LoopForm form, Loc loc) {
  Graph* const bodies[] = {&body};
  form.sizes = sizes_for(bodies);
  std::vector<Value> inputs(carried.begin(), carried.end());
  inputs.insert(inputs.end(), used.begin(), used.end());
  const auto closed = std::make_shared<const Graph>(std::move(body));
  const Value loop = graph.loop(closed, inputs, std::move(form), loc);
  std::vector<Value> results{loop};
  for (size_t i = 0; i < carried.size(); ++i) {
    std::vector<Type> others{closed->type(closed->inputs()[1 + i]),
                             closed->type(closed->outputs[i])};
    for (const Node& node : closed->nodes()) {
      if (node.op == Op::leave) others.push_back(closed->type(node.inputs[1 + i]));
    }
    const Type type = joined(graph, graph.type(carried[i]), others);
    results.push_back(graph.result(loop, static_cast<int>(i) + 1, type, loc));
  }
  return results;
}

std::vector<Value> add_branch(Graph& graph, Value condition, Graph then, Graph otherwise,
                              std::span<const Value> used, Loc loc) {
  Graph* const bodies[] = {&then, &otherwise};
  const std::vector<Dim> sizes = sizes_for(bodies);
  std::vector<Type> types;
  for (size_t i = 0; i < then.outputs.size() && i < otherwise.outputs.size(); ++i) {
    const Type other[] = {otherwise.type(otherwise.outputs[i])};
    types.push_back(joined(graph, then.type(then.outputs[i]), other));
  }
  if (types.empty()) fail(ErrorCode::graph_invalid, loc, "branch: a body without results");
  std::vector<Value> results{
      graph.branch(condition, used, types[0], std::make_shared<const Graph>(std::move(then)),
                   std::make_shared<const Graph>(std::move(otherwise)), sizes, loc)};
  for (size_t i = 1; i < types.size(); ++i) {
    results.push_back(graph.result(results[0], static_cast<int>(i), types[i], loc));
  }
  return results;
}

}  // namespace dvm::core
