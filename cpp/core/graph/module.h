// A Module: functions over tensors and objects, which may call each other and themselves, and the
// data types that the objects are of (paper Nimble, section 3). Text form:
//
//   module v1 {
//     data Tree = Leaf(value: f64[?]) | Node(left: Tree, right: Tree)
//     closure Step = (f64[?]) -> (f64[?])
//     function total = graph v1 {
//       %0 = input Tree
//       %1 = match(%0) f64[n] case Leaf {
//         %0 = input f64[n]
//         return %0
//       } case Node {
//         %0 = input Tree
//         %1 = input Tree
//         %2 = invoke(%0) f64[n] {callee = "total"}
//         %3 = invoke(%1) f64[n] {callee = "total"}
//         %4 = add(%2, %3) f64[n]
//         return %4
//       }
//       return %1
//     }
//     graph v1 {
//       %0 = input Tree
//       %1 = invoke(%0) f64[n] {callee = "total"}
//       return %1
//     }
//   }
//
// Types of a signature are gradual: dtype and rank hold beforehand, sizes are read off the arrays
// when a function is called and checked against what its graph says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace dvm::core {

// What is known of a value before there is one.
struct ValueKind {
  DType dtype = DType::boolean;
  int rank = 0;
  std::string data = {};  // of an object; dtype and rank say nothing then
  bool is_object() const { return !data.empty(); }
  bool operator==(const ValueKind&) const = default;
};
ValueKind kind_of(const Type& type);
std::string to_string(const ValueKind& kind);  // "f64[?, ?]", or the name of a data type

struct Constructor {
  std::string name;
  std::vector<std::string> fields = {};  // names
  std::vector<ValueKind> kinds = {};     // of the fields
  bool operator==(const Constructor&) const = default;
};

// A sum of constructors; or what functions of a signature are as values, in whose place
// `without_closures` has such a sum.
struct DataType {
  std::string name;
  bool is_function = false;
  std::vector<Constructor> constructors = {};
  std::vector<ValueKind> takes = {}, gives = {};  // of functions
  std::optional<size_t> find(std::string_view constructor) const;
  bool operator==(const DataType&) const = default;
};

struct Function {
  std::string name;
  Graph graph;
};

// A Graph that stands alone is one without functions and data types.
struct Module {
  Module() = default;
  Module(Graph graph) : main(std::move(graph)) {}
  bool is_graph() const { return types.empty() && functions.empty(); }

  std::vector<DataType> types;
  std::vector<Function> functions;
  Graph main;

  const DataType* type(std::string_view name) const;   // null: there is none
  const Graph* function(std::string_view name) const;  // null: there is none
};

// The kinds of a function's arguments in their order, and of its results. Sizes that are handed in
// come last, as numbers.
std::vector<ValueKind> takes(const Graph& function);
std::vector<ValueKind> gives(const Graph& function);

// What data a type may have been made of: the sums of the module, and for each type of functions
// the sum of the functions that become values of it, whose fields are what they have with them
// (defunctionalisation: J. C. Reynolds, Definitional interpreters, 1972).
std::vector<DataType> without_closures(const Module& module);

// Calls f(graph) for the graph and all bodies within.
template <typename F>
void for_each_graph(const Graph& graph, const F& f) {
  f(graph);
  for (const Node& node : graph.nodes()) {
    for (const Body& body : node.attrs.bodies) for_each_graph(*body, f);
  }
}
template <typename F>
void for_each_graph(const Module& module, const F& f) {
  for (const Function& function : module.functions) for_each_graph(function.graph, f);
  for_each_graph(module.main, f);
}

bool equal(const Module& a, const Module& b);
void verify(const Module& module);  // throws GraphError naming the first broken rule

// A Graph that stands alone is printed and read as that.
std::string print(const Module& module);
Module parse_module(std::string_view text);  // throws FormatError; checks grammar, then verify()

}  // namespace dvm::core
