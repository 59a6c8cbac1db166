// The scalar meaning of a binary op chosen at run time: what folds and scans combine elements with.
#pragma once

#include "core/ops/elementwise.h"
#include "core/ops/scalar_ops.h"

namespace dvm::core {

// Calls f with the functor of `op`, a row that makes one value of dtype D of two (see `combines`);
// false if it is none.
template <DType D, typename F>
bool with_binary(Op op, F f) {
  switch (op) {
#define DVM_ROW_1(name, dtypes, result)
#define DVM_ROW_2(name, dtypes, result)                                    \
  case Op::name:                                                           \
    if constexpr (is_closed(OperandRule::dtypes, ResultRule::result, D)) { \
      f(scalar::name{});                                                   \
      return true;                                                         \
    }                                                                      \
    return false;
#define DVM_ELEMENTWISE(name, arity, dtypes, result, ...) DVM_ROW_##arity(name, dtypes, result)
#include "core/ops/elementwise.def"
#undef DVM_ELEMENTWISE
#define DVM_COMPARE(name, op, numpy) DVM_ROW_2(name, any, boolean)
#include "core/ops/compare.def"
#undef DVM_COMPARE
#undef DVM_ROW_1
#undef DVM_ROW_2
    default:
      return false;
  }
}

}  // namespace dvm::core
