// Rules are rows of simplify.def; here is how they match, and what is no pattern: constants, casts
// of casts and views of views.
#include <algorithm>
#include <limits>
#include <map>

#include "core/graph/infer.h"
#include "core/passes/node_walk.h"
#include "core/passes/simplify_rules.h"

namespace dvm::core {

namespace {

bool is_commutative(Op op) {
  switch (op) {
    case Op::add:
    case Op::mul:
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
    case Op::logical_and:
    case Op::logical_or:
      return true;
    default:
      return false;
  }
}

// Whether every value of `from` is one of `to`: a detour over `to` changes nothing. Between floats
// and integers a cast has rules of its own.
bool holds_all(DType from, DType to) {
  const DTypeInfo &a = info(from), &b = info(to);
  if (a.kind == Kind::boolean) return b.kind == Kind::integer;
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::floating) return from == to || a.bytes < b.bytes;
  const auto is_signed = [](DType d) {
    return dispatch(d, []<DType D>() { return std::numeric_limits<Storage<D>>::is_signed; });
  };
  const bool a_signed = is_signed(from), b_signed = is_signed(to);
  if (a_signed == b_signed) return a.bytes <= b.bytes;
  return b_signed && a.bytes < b.bytes;
}

class Simplifier {
 public:
  explicit Simplifier(const Graph& from) : walk_(from, "simplify"), graph_(walk_.graph()) {}

  Graph run() {
    return walk_.run([this](const Node& node) { return simpler(node); });
  }
  const WalkCounts& counts() const { return walk_.counts(); }

 private:
  struct Match {
    std::map<char, Value> variables;
    Scalar power;
  };

  std::optional<Value> simpler(const Node& node) {
    switch (op_class(node.op)) {
      case OpClass::elementwise:
        return simpler_elementwise(node);
      case OpClass::broadcast:
        if (const Node& inner = operand(node); inner.op == Op::broadcast && covers(inner, node)) {
          return over(inner.inputs[0], node);
        }
        break;
      case OpClass::view:
        return simpler_view(node);
      default:
        break;
    }
    return std::nullopt;
  }

  std::optional<Value> simpler_elementwise(const Node& node) {
    if (const auto constant = folded(node)) return spread(*constant, node.type, node.loc);
    if (node.op == Op::cast) return simpler_cast(node);
    for (const SimplifyRule& rule : simplify_rules()) {
      Match match;
      if (rule.from.op != node.op || !matches(rule.from, node, match)) continue;
      if (!rule.admits(graph_.type(match.variables.at('x')).dtype)) continue;
      return build(rule.to, match, node);
    }
    return std::nullopt;
  }

  std::optional<Value> simpler_cast(const Node& node) {
    const Value from = node.inputs[0];
    if (graph_.type(from).dtype == node.type.dtype) return from;
    const Node& inner = operand(node);
    if (inner.op == Op::cast && holds_all(graph_.type(inner.inputs[0]).dtype, inner.type.dtype) &&
        info(inner.type.dtype).kind == info(node.type.dtype).kind) {
      return over(inner.inputs[0], node);
    }
    return std::nullopt;
  }

  std::optional<Value> simpler_view(const Node& node) {
    const Node& inner = operand(node);
    if (node.op == Op::transpose) {
      if (std::ranges::is_sorted(node.attrs.axes)) return node.inputs[0];
      if (inner.op != Op::transpose) return std::nullopt;
      Node merged = node;
      merged.inputs = inner.inputs;
      for (int& axis : merged.attrs.axes) axis = inner.attrs.axes[static_cast<size_t>(axis)];
      return walk_.again(std::move(merged));
    }
    if (node.op == Op::reshape) {
      if (node.type == graph_.type(node.inputs[0])) return node.inputs[0];
      // Each of the two checks that sizes agree; one of them must be sure to.
      const Dim middle = elements(inner.type.shape);
      const bool is_sure =
          inner.op == Op::reshape && (middle == elements(node.type.shape) ||
                                      middle == elements(graph_.type(inner.inputs[0]).shape));
      if (is_sure) return over(inner.inputs[0], node);
    }
    return std::nullopt;
  }

  const Node& operand(const Node& node) const { return graph_.node(node.inputs[0]); }

  Value over(Value operand, Node node) {
    node.inputs = {operand};
    return walk_.again(std::move(node));
  }

  Dim elements(const Shape& shape) const {
    Dim product = graph_.dims().constant(1);
    for (const Dim dim : shape) product = product * dim;
    return product;
  }

  // Whether the outer of two broadcasts checks all that the inner one does: each size of the inner
  // one is the outer's, or changes nothing.
  bool covers(const Node& inner, const Node& outer) const {
    const Shape &from = graph_.type(inner.inputs[0]).shape, &middle = inner.type.shape;
    const Shape& to = outer.type.shape;
    for (size_t d = 0; d < middle.size(); ++d) {
      const size_t lead = middle.size() - from.size();
      const bool same = d >= lead && from[d - lead] == middle[d];
      if (!same && middle[d] != to[to.size() - middle.size() + d]) return false;
    }
    return true;
  }

  // ---- constants

  // Whether a broadcast is possible for all sizes, so that nothing is lost with it.
  bool always_fits(const Node& broadcast) const {
    const Shape &from = operand(broadcast).type.shape, &to = broadcast.type.shape;
    for (size_t d = 0; d < from.size(); ++d) {
      if (from[d] != graph_.dims().constant(1) && from[d] != to[to.size() - from.size() + d]) {
        return false;
      }
    }
    return true;
  }

  std::optional<Scalar> constant_of(Value v) const {
    while (graph_.node(v).op == Op::broadcast && always_fits(graph_.node(v))) {
      v = graph_.node(v).inputs[0];
    }
    if (graph_.node(v).op != Op::constant) return std::nullopt;
    return graph_.node(v).attrs.value;
  }

  std::optional<Scalar> folded(const Node& node) const {
    std::vector<DType> dtypes;
    std::vector<Scalar> operands;
    for (const Value v : node.inputs) {
      const auto constant = constant_of(v);
      if (!constant) return std::nullopt;
      dtypes.push_back(graph_.type(v).dtype);
      operands.push_back(*constant);
    }
    return fold(node, dtypes, operands);
  }

  Value spread(Scalar value, const Type& type, Loc loc) {
    const Value constant = graph_.constant(type.dtype, value, loc);
    return type.rank() == 0 ? constant : graph_.broadcast(constant, type.shape, loc);
  }

  // ---- rules

  bool matches(const Term& term, const Node& node, Match& match) const {
    const auto all_match = [&](size_t first) {
      for (size_t i = 0; i < term.operands.size(); ++i) {
        const size_t k = first == 0 ? i : term.operands.size() - 1 - i;
        if (!matches(term.operands[i], node.inputs[k], match)) return false;
      }
      return true;
    };
    if (term.op != node.op) return false;
    const Match before = match;
    if (all_match(0)) return true;
    match = before;
    return is_commutative(term.op) && all_match(1);
  }

  bool matches(const Term& term, Value v, Match& match) const {
    switch (term.kind) {
      case Term::Kind::op:
        return matches(term, graph_.node(v), match);
      case Term::Kind::variable:
        return match.variables.try_emplace(term.variable, v).first->second == v;
      case Term::Kind::number:
        return constant_of(v) == scalar_of(graph_.type(v).dtype, term.number);
      default: {
        const auto constant = constant_of(v);
        if (!constant || !is_power_of_two(graph_.type(v).dtype, *constant)) return false;
        match.power = *constant;
        return true;
      }
    }
  }

  Value build(const Term& term, const Match& match, const Node& replaced) {
    if (term.kind == Term::Kind::variable) return match.variables.at(term.variable);
    const Type& type = graph_.type(match.variables.at('x'));
    if (term.kind == Term::Kind::op) {
      Node node{.op = term.op, .inputs = {}, .attrs = {}, .type = {}, .loc = replaced.loc};
      for (const Term& operand : term.operands)
        node.inputs.push_back(build(operand, match, replaced));
      node.type = infer(graph_, node);
      return walk_.again(std::move(node));
    }
    return spread(derived(term.kind, type.dtype, match.power), Type(type), replaced.loc);
  }

  NodeWalk walk_;
  Graph& graph_;
};

}  // namespace

Graph pass_simplify(Graph graph) { return Simplifier(graph).run(); }

Graph pass_simplify(const Graph& graph, WalkCounts& counts) {
  Simplifier simplifier(graph);
  Graph made = simplifier.run();
  counts = simplifier.counts();
  return made;
}

}  // namespace dvm::core
