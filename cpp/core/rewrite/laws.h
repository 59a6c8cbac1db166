// Which binary ops may have their operands in another order. Associativity holds of numbers but not
// of every bit: who uses it says so.
#pragma once

#include "core/graph/graph.h"

namespace dvm::core {

inline bool associates(Op op) {
  switch (op) {
    case Op::add:
    case Op::mul:
    case Op::maximum:
    case Op::minimum:
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor:
      return true;
    default:
      return false;
  }
}

inline bool commutes(Op op) {
  return associates(op) || op == Op::eq || op == Op::ne || op == Op::hypot || op == Op::logaddexp ||
         op == Op::gcd || op == Op::lcm;
}

}  // namespace dvm::core
