#include "core/rewrite/chains.h"

#include "core/rewrite/numbers.h"

namespace dvm::core {

namespace {

constexpr double kMostFactors = 4;  // of a power that is a product

std::optional<std::pair<ChainPart, ChainPart>> factors_of(const Graph& graph, const Node& node) {
  const std::vector<Value>& operands = node.inputs;
  switch (node.op) {
    case Op::mul:
      return {{{operands[0]}, {operands[1]}}};
    case Op::div:
      return {{{operands[0]}, {operands[1], kInverted}}};
    case Op::square:
      return {{{operands[0]}, {operands[0]}}};
    case Op::power: {
      const double count = number_behind(graph, operands[1]).value_or(0);
      if (count != 2 && count != 3 && count != kMostFactors) return std::nullopt;
      return {{{operands[0]}, {operands[0], {}, static_cast<int>(count) - 1}}};
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::pair<ChainPart, ChainPart>> parts_of(const Graph& graph, Op head, Value v) {
  const Node& node = graph.node(v);
  if (head == Op::mul) return factors_of(graph, node);
  if (head == Op::add && node.op == Op::sub) {
    return {{{node.inputs[0]}, {node.inputs[1], kNegative}}};
  }
  if (node.op != head) return std::nullopt;
  return {{{node.inputs[0]}, {node.inputs[1]}}};
}

std::optional<ChainPart> without_sign(const Graph& graph, Value v) {
  const Node& node = graph.node(v);
  const auto is_unit = [&](size_t k) {
    const std::optional<double> number = number_behind(graph, node.inputs[k]);
    return number == 1 || number == -1;
  };
  const auto of_unit = [&](size_t k, Sign sign) {
    return number_behind(graph, node.inputs[k]) == -1 ? sign * kNegative : sign;
  };
  switch (node.op) {
    case Op::neg:
      return ChainPart{node.inputs[0], kNegative};
    case Op::sub:
      if (number_behind(graph, node.inputs[0]) != 0) return std::nullopt;
      return ChainPart{node.inputs[1], kNegative};
    case Op::reciprocal:
      if (!is_floating(node.type.dtype)) return std::nullopt;
      return ChainPart{node.inputs[0], kInverted};
    case Op::div:
      if (is_unit(0)) return ChainPart{node.inputs[1], of_unit(0, kInverted)};
      if (is_unit(1)) return ChainPart{node.inputs[0], of_unit(1, {})};
      return std::nullopt;
    case Op::mul:
      if (is_unit(0)) return ChainPart{node.inputs[1], of_unit(0, {})};
      if (is_unit(1)) return ChainPart{node.inputs[0], of_unit(1, {})};
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

Op joining(Op head, Sign sign) {
  if (sign.is_plain()) return head;
  return head == Op::add ? Op::sub : Op::div;
}

}  // namespace dvm::core
