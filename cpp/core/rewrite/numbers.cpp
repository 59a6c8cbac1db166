#include "core/rewrite/numbers.h"

#include <cmath>

namespace dvm::core {

namespace {

double as_number(DType dtype, Scalar value) {
  return is_floating(dtype) ? value.as_float() : static_cast<double>(value.as_int());
}

bool is_near(const Node& constant, double number, double tolerance) {
  const DType dtype = constant.type.dtype;
  const double seen = as_number(dtype, constant.attrs.value);
  if (tolerance > 0) return std::fabs(seen - number) <= tolerance * std::fabs(number);
  // A zero has a sign, which operations may look at.
  if (seen == number && std::signbit(seen) == std::signbit(number)) return true;
  return is_floating(dtype) && constant.attrs.value == as_element(dtype, number);
}

}  // namespace

std::optional<Value> constant_behind(const Graph& graph, Value v) {
  const auto is_seen_through = [](Op op) {
    return op == Op::broadcast || op == Op::cast || op == Op::reshape;
  };
  while (is_seen_through(graph.node(v).op)) v = graph.node(v).inputs[0];
  return graph.node(v).op == Op::constant ? std::optional(v) : std::nullopt;
}

std::optional<double> number_behind(const Graph& graph, Value v) {
  const std::optional<Value> known = constant_behind(graph, v);
  if (!known) return std::nullopt;
  return as_number(graph.type(*known).dtype, graph.node(*known).attrs.value);
}

Scalar as_element(DType dtype, double number) {
  return round_to(dtype, is_floating(dtype) ? Scalar::of_float(number)
                                            : Scalar::of_int(static_cast<int64_t>(number)));
}

bool stands_for(const Node& constant, const PatternTerm& number, Sign sign) {
  const double signed_number = sign.negative ? -number.number : number.number;
  if (!sign.inverted) return is_near(constant, signed_number, number.tolerance);
  if (number.number == 0 || !is_floating(constant.type.dtype)) return false;
  if (is_near(constant, 1 / signed_number, number.tolerance)) return true;
  // `x / 49` has the rounded inverse of 1 / 49 nowhere.
  const double seen = as_number(constant.type.dtype, constant.attrs.value);
  return seen != 0 && 1 / seen == signed_number;
}

}  // namespace dvm::core
