#include "core/ops/quiet.h"

#include "core/ops/elementwise.h"

namespace dvm::core {

namespace {

// Moves, choices, comparisons, classification and rounding.
bool is_quiet_of_floats(Op op) {
  switch (op) {
    case Op::abs:
    case Op::argmax:
    case Op::argmin:
    case Op::copysign:
    case Op::fabs:
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::rint:
    case Op::fmax:
    case Op::fmin:
    case Op::frexp_mantissa:
    case Op::gather:
    case Op::heaviside:
    case Op::max:
    case Op::max_or_lowest:
    case Op::maximum:
    case Op::min:
    case Op::min_or_highest:
    case Op::minimum:
    case Op::modf_fraction:
    case Op::nanmax:
    case Op::nanmin:
    case Op::neg:
    case Op::positive:
    case Op::select:
    case Op::sign:
    case Op::take_along:
    case Op::update:
      return true;
    default:
      return false;
  }
}

// Division by zero, and powers that are no integers.
bool is_loud_of_integers(Op op) {
  return op == Op::floor_divide || op == Op::remainder || op == Op::fmod || op == Op::power ||
         op == Op::reciprocal;
}

}  // namespace

bool may_raise(Op op, DType result) {
  const OpClass kind = op_class(op);
  if (kind == OpClass::source || kind == OpClass::broadcast || kind == OpClass::view) return false;
  if (op == Op::cast) return true;
  if (op == Op::empty || op == Op::iota) return false;
  return is_floating(result) ? !is_quiet_of_floats(op) : is_loud_of_integers(op);
}

}  // namespace dvm::core
