#include "core/graph/bodies.h"

#include <algorithm>

#include "core/graph/bind_symbols.h"
#include "core/graph/infer.h"
#include "core/graph/module.h"

namespace dvm::core {

namespace {

bool is_condition(const Type& type) {
  return type.dtype == DType::boolean && type.rank() == 0 && !type.is_object();
}

// What is wrong is said with the op of the node that has the bodies.
class Rules {
 public:
  Rules(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  void loop() const {
    const Graph& body = only_body(1, 0);
    const size_t carried = body.outputs.size();
    if (node_.attrs.results != 1 + static_cast<int>(carried) || carried > node_.inputs.size())
      invalid("carries " + std::to_string(carried) +
              " values, which are neither its results from 1 on nor its first operands");
    if (node_.type != Type{DType::i64, {}})
      invalid("the number of trips is i64[], not " + to_string(node_.type));
    if (node_.attrs.size && !node_.attrs.size.is_symbol())
      invalid("defines a symbol, not " + to_string(node_.attrs.size));
    check_arguments(body, 1, node_.inputs);
    const std::vector<Value> arguments = body.inputs();
    const auto check_carried = [&](const char* what, std::span<const Value> values) {
      for (size_t i = 0; i < carried; ++i) {
        check_kind(what + std::to_string(i), body.type(values[i]), body.type(arguments[1 + i]));
      }
    };
    check_carried("carried value ", body.outputs);
    for (const Node& leave : body.nodes()) {
      if (leave.op != Op::leave) continue;
      if (leave.inputs.size() != 1 + carried)
        invalid("a leave with " + std::to_string(leave.inputs.size()) + " operands, not " +
                std::to_string(1 + carried));
      check_carried("what leaves as value ", std::span(leave.inputs).subspan(1));
    }
  }

  void branch() const {
    const Graph& then = only_body(2, 0);
    const Graph& otherwise = only_body(2, 1);
    if (node_.inputs.empty() || !is_condition(graph_.type(node_.inputs[0])))
      invalid("needs a condition, which is bool[]");
    for (const Graph* body : {&then, &otherwise}) {
      if (static_cast<int>(body->outputs.size()) != node_.attrs.results)
        invalid("has " + std::to_string(node_.attrs.results) + " results, a body " +
                std::to_string(body->outputs.size()));
      check_arguments(*body, 0, std::span(node_.inputs).subspan(1));
    }
    for (int i = 0; i < node_.attrs.results; ++i) {
      check_kind("result " + std::to_string(i), type_of(otherwise, i), type_of(then, i));
    }
    check_result(0, node_.type);
  }

  // How many fields a body takes is told by the constructor, which the module knows.
  void match() const {
    const size_t count = node_.attrs.cases.size();
    if (node_.inputs.empty() || !graph_.type(node_.inputs[0]).is_object() || count == 0)
      invalid("needs an object, and a case");
    const Graph& first = only_body(count, 0);
    for (size_t k = 0; k < count; ++k) {
      const Graph& body = only_body(count, k);
      const std::string& name = node_.attrs.cases[k];
      if (static_cast<int>(body.outputs.size()) != node_.attrs.results)
        invalid("has " + std::to_string(node_.attrs.results) + " results, case " + name + " " +
                std::to_string(body.outputs.size()));
      const size_t given = node_.inputs.size() - 1 + node_.attrs.sizes.size();
      if (body.inputs().size() < given)
        invalid("case " + name + " takes " + std::to_string(body.inputs().size()) +
                " arguments, it is given " + std::to_string(given) + " besides fields");
      check_arguments(body, body.inputs().size() - given, std::span(node_.inputs).subspan(1));
      for (int i = 0; i < node_.attrs.results; ++i) {
        check_kind("result " + std::to_string(i), type_of(body, i), type_of(first, i));
      }
    }
    check_result(0, node_.type);
  }

  void check_result(int index, const Type& declared) const {
    const Graph& body = *node_.attrs.bodies[0];
    const Type& made = type_of(body, node_.op == Op::loop ? index - 1 : index);
    check_kind("result " + std::to_string(index), declared, made);
  }

 private:
  [[noreturn]] void invalid(const std::string& message) const {
    fail(ErrorCode::graph_invalid, node_.loc, std::string(info(node_.op).name) + ": " + message);
  }
  void check_kind(const std::string& what, const Type& is, const Type& wanted) const {
    if (kind_of(is) == kind_of(wanted)) return;
    fail(ErrorCode::dtype_mismatch, node_.loc,
         std::string(info(node_.op).name) + ": " + what + " is " + to_string(is) + ", not " +
             (wanted.is_object() ? wanted.data
                                 : std::string(to_string(wanted.dtype)) + " of rank " +
                                       std::to_string(wanted.rank())));
  }

  static const Type& type_of(const Graph& body, int output) {
    return body.type(body.outputs[static_cast<size_t>(output)]);
  }

  const Graph& only_body(size_t count, size_t which) const {
    const std::vector<Body>& bodies = node_.attrs.bodies;
    if (bodies.size() != count || std::ranges::find(bodies, nullptr) != bodies.end())
      invalid("needs " + std::to_string(count) + (count == 1 ? " body" : " bodies"));
    const Graph& body = *bodies[which];
    if (&body.dims() != &graph_.dims()) invalid("a body of another context");
    for (const Value v : body.outputs) {
      if (v < 0 || v >= body.size()) invalid("a body that returns what does not exist");
    }
    return body;
  }

  // The number of the trip of a loop, fields of a match's object; operands; sizes.
  void check_arguments(const Graph& body, size_t first, std::span<const Value> operands) const {
    const std::vector<Value> arguments = body.inputs();
    const size_t wanted = first + operands.size() + node_.attrs.sizes.size();
    if (arguments.size() != wanted)
      invalid("a body takes " + std::to_string(arguments.size()) + " arguments, it is given " +
              std::to_string(wanted));
    for (size_t k = 0; k < wanted; ++k) {
      const Node& argument = body.node(arguments[k]);
      if (k >= first && k < first + operands.size()) {
        const Type& given = graph_.type(operands[k - first]);
        check_kind("argument " + std::to_string(k) + " of a body", given, argument.type);
        if (argument.op != Op::input && node_.op != Op::loop)
          invalid("argument " + std::to_string(k) + " of a body is an array, an input");
      } else if (node_.op == Op::match && k < first) {
        if (argument.op != Op::input)
          invalid("argument " + std::to_string(k) + " of a body is a field, an input");
      } else if (argument.op != Op::scalar || argument.type.dtype != DType::i64) {
        invalid("argument " + std::to_string(k) + " of a body is a number, a scalar i64[]");
      }
    }
    const std::vector<int> missing = missing_symbols(body);
    if (!missing.empty())
      invalid("no argument of a body tells the size " + graph_.dims().symbol_info(missing[0]).name);
  }

  const Graph& graph_;
  const Node& node_;
};

}  // namespace

void check_bodies(const Graph& graph, const Node& node) {
  const Rules rules(graph, node);
  if (node.op == Op::loop) return rules.loop();
  node.op == Op::match ? rules.match() : rules.branch();
}

void check_body_result(const Graph& graph, const Node& owner, int index, const Node& node) {
  Rules(graph, owner).check_result(index, node.type);
}

void check_leave(const Graph& graph, const Node& node) {
  const bool holds =
      !node.inputs.empty() && is_condition(graph.type(node.inputs[0])) && is_condition(node.type);
  if (!holds) fail(ErrorCode::graph_invalid, node.loc, "leave: needs a condition, which is bool[]");
}

void verify_body(const Node& owner, const Graph& body) {
  for (const Node& node : body.nodes()) {
    if (!node.attrs.name.empty())
      fail(ErrorCode::graph_invalid, node.loc,
           "tensor: '" + node.attrs.name + "' is given to a body as an operand, not by name");
  }
  verify_nodes(body);
  verify_leaves(body, owner.op == Op::loop);
}

void verify_leaves(const Graph& graph, bool allowed) {
  const auto is_leave = [&](Value v) { return graph.node(v).op == Op::leave; };
  const auto no_value = [&](std::span<const Value> used, Loc loc) {
    if (std::ranges::any_of(used, is_leave))
      fail(ErrorCode::graph_invalid, loc, "leave: has no value that a node may use");
  };
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::leave && !allowed)
      fail(ErrorCode::graph_invalid, node.loc, "leave: stands in no loop's body");
    no_value(node.inputs, node.loc);
  }
  no_value(graph.outputs, {});
}

std::span<const std::string_view> body_words(Op op) {
  static constexpr std::string_view kLoop[] = {"do"}, kBranch[] = {"then", "else"};
  if (op == Op::loop) return kLoop;
  if (op == Op::branch) return kBranch;
  return {};
}

}  // namespace dvm::core
