#include "core/graph/module.h"

#include <algorithm>
#include <set>

#include "core/graph/bodies.h"
#include "core/graph/infer.h"

namespace dvm::core {

namespace {

bool is_name(std::string_view text) {
  const auto letter = [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_' || ('0' <= c && c <= '9');
  };
  return !text.empty() && std::ranges::all_of(text, letter) && !('0' <= text[0] && text[0] <= '9');
}

template <typename T>
const T* find_named(const std::vector<T>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &T::name);
  return found == all.end() ? nullptr : &*found;
}

std::vector<ValueKind> kinds_of(const Graph& graph, std::span<const Value> values) {
  std::vector<ValueKind> kinds;
  for (const Value v : values) kinds.push_back(kind_of(graph.type(v)));
  return kinds;
}

// The results of a node that may have several, those that have no node left out.
struct Result {
  size_t index;
  ValueKind kind;
};
std::vector<Result> results_of(const Graph& graph, Value owner) {
  std::vector<Result> results{{0, kind_of(graph.type(owner))}};
  for (Value v = owner + 1; v < graph.size(); ++v) {
    const Node& node = graph.node(v);
    if (node.op == Op::result && node.inputs[0] == owner)
      results.push_back({static_cast<size_t>(node.attrs.index), kind_of(node.type)});
  }
  return results;
}

class ModuleVerifier {
 public:
  explicit ModuleVerifier(const Module& module) : module_(module) {}

  void run() {
    check_types();
    std::set<std::string_view> names;
    for (const Function& function : module_.functions) {
      if (!is_name(function.name) || !names.insert(function.name).second)
        invalid({}, "'" + function.name + "' is no name for one function");
      check_function(function.graph);
    }
    verify_nodes(module_.main);
    verify_leaves(module_.main, false);
    for_each_graph(module_, [&](const Graph& graph) {
      for (Value v = 0; v < graph.size(); ++v) check_node(graph, v);
    });
  }

 private:
  [[noreturn]] static void invalid(Loc loc, const std::string& rule) {
    fail(ErrorCode::graph_invalid, loc, "module: " + rule);
  }

  void check_types() const {
    std::set<std::string_view> names, constructors;
    for (const DataType& type : module_.types) {
      if (!is_name(type.name) || dtype_from_text(type.name) || !names.insert(type.name).second)
        invalid({}, "'" + type.name + "' is no name for one data type");
      if (type.is_function == !type.constructors.empty())
        invalid({}, type.name + " has no constructor");
      for (const Constructor& constructor : type.constructors) {
        if (!is_name(constructor.name) || !constructors.insert(constructor.name).second)
          invalid({}, "'" + constructor.name + "' is no name for one constructor");
        std::set<std::string_view> fields;
        for (const std::string& field : constructor.fields) {
          if (!is_name(field) || !fields.insert(field).second)
            invalid({}, "'" + field + "' is no name for one field of " + constructor.name);
        }
        check_kinds(constructor.kinds);
        if (constructor.fields.size() != constructor.kinds.size() ||
            constructor.fields.size() > static_cast<size_t>(kMaxResults))
          invalid({}, "fields of " + constructor.name + " are too many, or lack a name");
      }
      check_kinds(type.takes);
      check_kinds(type.gives);
      if (type.is_function && type.gives.empty()) invalid({}, type.name + " gives nothing");
    }
  }
  void check_kinds(const std::vector<ValueKind>& kinds) const {
    for (const ValueKind& kind : kinds) {
      if (kind.is_object()) declared(kind.data, {});
      if (kind.rank < 0 || kind.rank > kMaxRank) invalid({}, "a rank beyond the limit");
    }
  }
  const DataType& declared(const std::string& name, Loc loc) const {
    const DataType* const type = module_.type(name);
    if (type == nullptr) invalid(loc, "there is no data type " + name);
    return *type;
  }

  // It is called with arrays and objects, and behind them sizes.
  void check_function(const Graph& graph) const {
    bool numbers = false;
    for (const Value v : graph.inputs()) {
      const Node& node = graph.node(v);
      const bool is_number = node.op == Op::scalar;
      if ((is_number && node.type.dtype != DType::i64) || (numbers && !is_number))
        invalid(node.loc, "a function takes arrays and objects, then sizes, scalar i64[]");
      numbers = is_number;
    }
    if (graph.outputs.empty()) invalid({}, "a function that gives nothing");
    for (const Node& node : graph.nodes()) {
      if (!node.attrs.name.empty())
        invalid(node.loc, "'" + node.attrs.name + "' is given to a function, not known by name");
    }
    verify_nodes(graph);
    verify_leaves(graph, false);
  }

  void check_node(const Graph& graph, Value v) const {
    const Node& node = graph.node(v);
    if (node.type.is_object()) declared(node.type.data, node.loc);
    switch (node.op) {
      case Op::construct:
        return check_construct(graph, node);
      case Op::match:
        return check_match(graph, node);
      case Op::invoke:
        return check_invoke(graph, v);
      case Op::closure:
        return check_closure(graph, node);
      case Op::apply:
        return check_apply(graph, v);
      default:
        return;
    }
  }

  void require(const Node& node, const std::string& what, std::span<const ValueKind> is,
               std::span<const ValueKind> wanted) const {
    const auto text = [](std::span<const ValueKind> kinds) {
      std::string list = "(";
      for (const ValueKind& kind : kinds) list += (list.size() > 1 ? ", " : "") + to_string(kind);
      return list + ")";
    };
    if (!std::ranges::equal(is, wanted))
      invalid(node.loc, std::string(info(node.op).name) + ": " + what + " are " + text(is) +
                            ", not " + text(wanted));
  }

  void check_construct(const Graph& graph, const Node& node) const {
    const DataType& type = declared(node.type.data, node.loc);
    const auto found = type.find(node.attrs.tag);
    if (!found) invalid(node.loc, type.name + " has no constructor '" + node.attrs.tag + "'");
    require(node, "fields of " + node.attrs.tag, kinds_of(graph, node.inputs),
            type.constructors[*found].kinds);
  }

  void check_match(const Graph& graph, const Node& node) const {
    const DataType& type = declared(graph.type(node.inputs[0]).data, node.loc);
    if (type.is_function) invalid(node.loc, "match: a function has no cases");
    if (node.attrs.cases.size() != type.constructors.size())
      invalid(node.loc, "match: has " + std::to_string(node.attrs.cases.size()) + " cases, " +
                            type.name + " " + std::to_string(type.constructors.size()));
    for (size_t k = 0; k < type.constructors.size(); ++k) {
      const Constructor& constructor = type.constructors[k];
      if (node.attrs.cases[k] != constructor.name)
        invalid(node.loc, "match: case " + std::to_string(k) + " is " + node.attrs.cases[k] +
                              ", not " + constructor.name);
      const Graph& body = *node.attrs.bodies[k];
      const std::vector<Value> arguments = body.inputs();
      const size_t fields = arguments.size() - (node.inputs.size() - 1) - node.attrs.sizes.size();
      require(node, "fields that case " + constructor.name + " takes",
              kinds_of(body, std::span(arguments).first(fields)), constructor.kinds);
    }
  }

  void check_results(const Graph& graph, Value owner, const std::vector<ValueKind>& gives) const {
    const Node& node = graph.node(owner);
    if (node.attrs.results != static_cast<int>(gives.size()))
      invalid(node.loc, std::string(info(node.op).name) + ": has " +
                            std::to_string(node.attrs.results) + " results, the function gives " +
                            std::to_string(gives.size()));
    for (const Result& result : results_of(graph, owner)) {
      require(node, "results", {&result.kind, 1}, {&gives[result.index], 1});
    }
  }

  void check_invoke(const Graph& graph, Value v) const {
    const Node& node = graph.node(v);
    const Graph& function = called(node);
    std::vector<ValueKind> given = kinds_of(graph, node.inputs);
    given.resize(given.size() + node.attrs.sizes.size(), kind_of({DType::i64, {}}));
    require(node, "arguments", given, takes(function));
    check_results(graph, v, gives(function));
  }
  const Graph& called(const Node& node) const {
    const Graph* const function = module_.function(node.attrs.callee);
    if (function == nullptr) invalid(node.loc, "there is no function " + node.attrs.callee);
    return *function;
  }

  void check_closure(const Graph& graph, const Node& node) const {
    const DataType& type = declared(node.type.data, node.loc);
    if (!type.is_function) invalid(node.loc, type.name + " is no type of functions");
    const Graph& function = called(node);
    for (const Value v : function.inputs()) {
      if (function.node(v).op == Op::scalar)
        invalid(node.loc, "a function that is handed sizes is no value");
    }
    std::vector<ValueKind> all = kinds_of(graph, node.inputs);
    all.insert(all.end(), type.takes.begin(), type.takes.end());
    require(node, "arguments of " + node.attrs.callee, all, takes(function));
    require(node, "results of " + node.attrs.callee, gives(function), type.gives);
  }

  void check_apply(const Graph& graph, Value v) const {
    const Node& node = graph.node(v);
    const DataType& type = declared(graph.type(node.inputs[0]).data, node.loc);
    if (!type.is_function) invalid(node.loc, type.name + " is no type of functions");
    require(node, "arguments", kinds_of(graph, std::span(node.inputs).subspan(1)), type.takes);
    check_results(graph, v, type.gives);
  }

  const Module& module_;
};

}  // namespace

ValueKind kind_of(const Type& type) { return {type.dtype, type.rank(), type.data}; }

std::string to_string(const ValueKind& kind) {
  if (kind.is_object()) return kind.data;
  std::string text(to_string(kind.dtype));
  text += '[';
  for (int d = 0; d < kind.rank; ++d) text += d ? ", ?" : "?";
  return text + "]";
}

std::optional<size_t> DataType::find(std::string_view constructor) const {
  const auto found = std::ranges::find(constructors, constructor, &Constructor::name);
  if (found == constructors.end()) return std::nullopt;
  return static_cast<size_t>(found - constructors.begin());
}

const DataType* Module::type(std::string_view name) const { return find_named(types, name); }
const Graph* Module::function(std::string_view name) const {
  const Function* const found = find_named(functions, name);
  return found == nullptr ? nullptr : &found->graph;
}

std::vector<ValueKind> takes(const Graph& function) {
  return kinds_of(function, function.inputs());
}
std::vector<ValueKind> gives(const Graph& function) { return kinds_of(function, function.outputs); }

std::vector<DataType> without_closures(const Module& module) {
  std::vector<DataType> types = module.types;
  for (DataType& type : types) {
    type.is_function = false;
    type.takes = type.gives = {};
  }
  for_each_graph(module, [&](const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      if (node.op != Op::closure) continue;
      DataType& type = *std::ranges::find(types, node.type.data, &DataType::name);
      if (type.find(node.attrs.callee)) continue;
      Constructor made{node.attrs.callee, {}, kinds_of(graph, node.inputs)};
      for (size_t k = 0; k < made.kinds.size(); ++k) made.fields.push_back("x" + std::to_string(k));
      type.constructors.push_back(std::move(made));
    }
  });
  return types;
}

bool equal(const Module& a, const Module& b) {
  const auto same = [](const Function& x, const Function& y) {
    return x.name == y.name && equal(x.graph, y.graph);
  };
  return a.types == b.types && std::ranges::equal(a.functions, b.functions, same) &&
         equal(a.main, b.main);
}

void verify(const Module& module) {
  module.is_graph() ? verify(module.main) : ModuleVerifier(module).run();
}

}  // namespace dvm::core
