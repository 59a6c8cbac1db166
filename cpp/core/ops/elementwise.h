// The rows of elementwise.def as data: what operands an elementwise op takes and what it returns.
#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace dvm::core {

enum class OperandRule : uint8_t { any, numeric, floating, integer, integral };
enum class ResultRule : uint8_t { same, boolean };

struct ElementwiseInfo {
  std::string_view name, numpy;
  int arity;
  OperandRule operands;
  ResultRule result;
};

constexpr bool allows(OperandRule rule, DType dtype) {
  switch (rule) {
    case OperandRule::any:
      return true;
    case OperandRule::numeric:
      return dtype != DType::boolean;
    case OperandRule::floating:
      return is_floating(dtype);
    case OperandRule::integer:
      return info(dtype).kind == Kind::integer;
    case OperandRule::integral:
      return !is_floating(dtype);
  }
  return false;
}
// Whether two values of the dtype make one of that dtype.
constexpr bool is_closed(OperandRule operands, ResultRule result, DType dtype) {
  return allows(operands, dtype) && (result == ResultRule::same || dtype == DType::boolean);
}
// As a table of documentation or an error calls it.
constexpr std::string_view to_string(OperandRule rule) {
  constexpr std::string_view kNames[] = {"any", "all but bool", "floating", "integer",
                                         "integer, bool"};
  return kNames[static_cast<int>(rule)];
}

inline constexpr ElementwiseInfo kElementwise[] = {
#define DVM_ELEMENTWISE(name, arity, dtypes, result, raises, numpy, slope, head, synopsis) \
  {#name, numpy, arity, OperandRule::dtypes, ResultRule::result},
#include "core/ops/elementwise.def"
#undef DVM_ELEMENTWISE
};

// nullptr for the elementwise ops with rules of their own (comparisons, select, cast).
const ElementwiseInfo* elementwise_info(Op op);

// eq, ne, ... of compare.def.
bool is_comparison(Op op);

// Whether of halves it is the op of the floats that they stand for, rounded to a half. The
// neighbour of a half is not that of a float.
bool computes_as_float(Op op);

// Whether a fold or scan of that dtype can be made with it.
bool combines(Op op, DType dtype);

}  // namespace dvm::core
