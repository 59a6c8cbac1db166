// Random expression trees over symbols, with a direct evaluation that shares no code with Dim: the
// oracle of the property tests.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "core/dims/dim.h"
#include "core/error.h"

namespace dvm::core {

__extension__ using OracleInt = __int128;

using Random = std::mt19937_64;

inline int64_t draw(Random& random, int64_t lo, int64_t hi) {
  return std::uniform_int_distribution<int64_t>(lo, hi)(random);
}

enum class TreeOp { constant, symbol, add, sub, mul, floordiv, ceildiv, mod, max, min, bcast };

struct Tree {
  TreeOp op = TreeOp::constant;
  int64_t number = 0;  // the constant, or the symbol's index
  std::vector<Tree> sides;
};

inline Tree random_tree(Random& random, int depth, int symbols) {
  if (depth == 0 || draw(random, 0, 4) == 0) {
    if (draw(random, 0, 2) == 0) return {TreeOp::constant, draw(random, -6, 9), {}};
    return {TreeOp::symbol, draw(random, 0, symbols - 1), {}};
  }
  // Half of the inner nodes are sums and products, as in real shapes.
  const auto op = draw(random, 0, 1) == 0 ? static_cast<TreeOp>(draw(random, 2, 4))
                                          : static_cast<TreeOp>(draw(random, 5, 10));
  Tree tree{op, 0, {random_tree(random, depth - 1, symbols)}};
  const bool divides = op == TreeOp::floordiv || op == TreeOp::mod || op == TreeOp::ceildiv;
  if (divides && draw(random, 0, 2) != 0)
    tree.sides.push_back({TreeOp::constant, draw(random, 1, 8), {}});
  else
    tree.sides.push_back(random_tree(random, depth - 1, symbols));
  return tree;
}

// Throws ShapeError where constants meet that do not broadcast.
inline Dim build(const Tree& tree, DimContext& context) {
  if (tree.op == TreeOp::constant) return context.constant(tree.number);
  if (tree.op == TreeOp::symbol) return context.symbol_at(static_cast<int>(tree.number));
  const Dim a = build(tree.sides[0], context), b = build(tree.sides[1], context);
  switch (tree.op) {
    case TreeOp::add:
      return a + b;
    case TreeOp::sub:
      return a - b;
    case TreeOp::mul:
      return a * b;
    case TreeOp::floordiv:
      return floor_div(a, b);
    case TreeOp::ceildiv:
      return ceil_div(a, b);
    case TreeOp::mod:
      return mod(a, b);
    case TreeOp::max:
      return max(a, b);
    case TreeOp::min:
      return min(a, b);
    default:
      return bcast(a, b);
  }
}

inline std::optional<Dim> try_build(const Tree& tree, DimContext& context) {
  try {
    return build(tree, context);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::shape_mismatch) throw;
    return std::nullopt;
  }
}

// None where the expression is undefined.
inline std::optional<OracleInt> direct(const Tree& tree, const std::vector<int64_t>& symbols) {
  if (tree.op == TreeOp::constant) return tree.number;
  if (tree.op == TreeOp::symbol) return symbols[static_cast<size_t>(tree.number)];
  const auto left = direct(tree.sides[0], symbols), right = direct(tree.sides[1], symbols);
  if (!left || !right) return std::nullopt;
  const OracleInt a = *left, b = *right;
  // The floor is the one integer q with 0 <= (a - q*b) / b < 1; found by correcting truncation.
  const auto floor_of = [](OracleInt x, OracleInt y) {
    OracleInt q = x / y;
    while ((y > 0 && x - q * y < 0) || (y < 0 && x - q * y > 0)) --q;
    return q;
  };
  switch (tree.op) {
    case TreeOp::add:
      return a + b;
    case TreeOp::sub:
      return a - b;
    case TreeOp::mul:
      return a * b;
    case TreeOp::floordiv:
      return b == 0 ? std::nullopt : std::optional(floor_of(a, b));
    case TreeOp::ceildiv:
      return b == 0 ? std::nullopt : std::optional(-floor_of(-a, b));
    case TreeOp::mod:
      return b == 0 ? std::nullopt : std::optional(a - floor_of(a, b) * b);
    case TreeOp::max:
      return a > b ? a : b;
    case TreeOp::min:
      return a < b ? a : b;
    default:
      break;
  }
  if (a == b || b == 1) return a;
  return a == 1 ? std::optional(b) : std::nullopt;
}

}  // namespace dvm::core
