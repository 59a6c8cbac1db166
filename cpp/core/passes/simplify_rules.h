// The rows of simplify.def as trees, and what the pass asks of constants. Internal to the pass and
// its test.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace dvm::core {

// A pattern or a replacement.
struct Term {
  enum class Kind : uint8_t { op, variable, number, power_of_two, inverse, predecessor, logarithm };
  Kind kind = Kind::variable;
  Op op = Op::input;
  char variable = 'x';
  double number = 0;
  std::vector<Term> operands{};
};

struct SimplifyRule {
  std::string_view from_text, to_text;
  bool (*admits)(DType);  // of x
  Term from, to;
};
std::span<const SimplifyRule> simplify_rules();

// The number as a constant of that dtype.
Scalar scalar_of(DType dtype, double number);
// Whether the constant is a power of two that the rows may divide by: its inverse is a number of
// the dtype too, and of integers it is positive.
bool is_power_of_two(DType dtype, Scalar constant);
// 1/p, p-1 or log2(p) of such a constant.
Scalar derived(Term::Kind kind, DType dtype, Scalar power);

// What an elementwise node makes of constants; none where computing it raises a status flag, which
// then has to be raised by every call.
std::optional<Scalar> fold(const Node& node, std::span<const DType> dtypes,
                           std::span<const Scalar> operands);

}  // namespace dvm::core
