// The rules of a Graph that any text, pass or caller must keep. Types follow from infer.cpp, which
// the builder obeys by construction; here they are checked again.
#include <map>
#include <set>

#include "core/graph/bodies.h"
#include "core/graph/graph.h"
#include "core/graph/infer.h"
#include "core/graph/module.h"

namespace dvm::core {

namespace {

[[noreturn]] void broken(const Graph& graph, Value v, const std::string& rule) {
  const Node& node = graph.node(v);
  fail(ErrorCode::graph_invalid, node.loc,
       "%" + std::to_string(v) + " = " + std::string(info(node.op).name) + ": " + rule);
}

void verify_node(const Graph& graph, Value v) {
  const Node& node = graph.node(v);
  for (const Value operand : node.inputs) {
    if (operand < 0 || operand >= v)
      broken(graph, v, "operand %" + std::to_string(operand) + " is not defined before");
  }
  // infer() speaks of dtype and shape errors of a user's program; in text or after a pass the same
  // rule broken is an invalid graph.
  Type type;
  try {
    type = infer(graph, node);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::internal) throw;
    fail(ErrorCode::graph_invalid, node.loc, "%" + std::to_string(v) + " = " + e.message());
  }
  if (type != node.type)
    broken(graph, v, "the type is " + to_string(type) + ", not " + to_string(node.type));
}

// What the host knows by a name is one array, which calls may write to.
void verify_names(const Graph& graph) {
  std::set<std::string_view> names;
  for (Value v = 0; v < graph.size(); ++v) {
    const std::string& name = graph.node(v).attrs.name;
    if (!name.empty() && !names.insert(name).second)
      broken(graph, v, "a second one of the name '" + name + "'");
  }
}

// Each result of a call is one node, and of arrays that it is to write all types are known.
void verify_results(const Graph& graph) {
  std::map<Value, std::set<int>> results;
  for (Value v = 0; v < graph.size(); ++v) {
    const Node& node = graph.node(v);
    if (node.op != Op::result || results[node.inputs[0]].insert(node.attrs.index).second) continue;
    broken(graph, v, "a second node for index " + std::to_string(node.attrs.index));
  }
  for (Value v = 0; v < graph.size(); ++v) {
    const Node& node = graph.node(v);
    if (node.op != Op::call_into) continue;
    const auto declared = static_cast<int>(results[v].size()) + 1;
    if (declared != node.attrs.results)
      broken(graph, v,
             "writes " + std::to_string(node.attrs.results) + " arrays, of which " +
                 std::to_string(declared) + " have a node");
  }
}

}  // namespace

void verify(const Graph& graph) {
  for_each_graph(graph, [](const Graph& part) {
    for (const Node& node : part.nodes()) {
      if (node.type.is_object() || is_invocation(node.op))
        fail(ErrorCode::graph_invalid, node.loc,
             std::string(info(node.op).name) + ": objects and functions are a module's");
    }
  });
  verify_nodes(graph);
  verify_leaves(graph, false);
}

void verify_nodes(const Graph& graph) {
  for (Value v = 0; v < graph.size(); ++v) {
    for (const Body& body : graph.node(v).attrs.bodies) verify_body(graph.node(v), *body);
    verify_node(graph, v);
  }
  verify_names(graph);
  verify_results(graph);
  for (const Value v : graph.outputs) {
    if (v < 0 || v >= graph.size())
      fail(ErrorCode::graph_invalid, "returned value %" + std::to_string(v) + " does not exist");
  }
}

}  // namespace dvm::core
