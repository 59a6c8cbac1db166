// The rows of reduce.def as data.
#pragma once

#include "core/graph/graph.h"

namespace dvm::core {

enum class ReduceDtypes : uint8_t { any, numeric, boolean, floating };
enum class Identity : uint8_t { none, zero, one, lowest, highest };

struct ReduceInfo {
  std::string_view name;
  ReduceDtypes dtypes;
  Identity identity;
};

constexpr bool allows(ReduceDtypes rule, DType dtype) {
  if (rule == ReduceDtypes::any) return true;
  if (rule == ReduceDtypes::floating) return is_floating(dtype);
  return (rule == ReduceDtypes::boolean) == (dtype == DType::boolean);
}
// As a table of documentation calls it.
constexpr std::string_view to_string(ReduceDtypes rule) {
  constexpr std::string_view kNames[] = {"any", "all but bool", "bool", "floating"};
  return kNames[static_cast<int>(rule)];
}

// Only of a reduction.
constexpr ReduceInfo reduce_info(Op op) {
  switch (op) {
#define DVM_REDUCE(name, insn, dtypes, identity, ...) \
  case Op::name:                                      \
    return {#name, ReduceDtypes::dtypes, Identity::identity};
#include "core/ops/reduce.def"
#undef DVM_REDUCE
    default:
      return {"", ReduceDtypes::any, Identity::none};
  }
}

// The value of an identity besides none, as a scalar of that dtype.
Scalar identity_value(Identity identity, DType dtype);

}  // namespace dvm::core
