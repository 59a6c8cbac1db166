#include "core/ops/scalar_function.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "core/ops/elementwise.h"
#include "core/ops/scalar_ops.h"

namespace dvm::core {

namespace {

constexpr DTypeSet kOfNumbers = {DType::f64, DType::f32, DType::i64, DType::i32, DType::boolean};

template <typename T>
T element_at(const std::byte* memory) {
  T element;
  std::memcpy(&element, memory, sizeof element);
  return element;
}

template <typename F, typename R, typename... Ts, size_t... places>
void store(const std::byte* const* operands, std::byte* result, std::index_sequence<places...>) {
  const R element = F{}(element_at<Ts>(operands[places])...);
  std::memcpy(result, &element, sizeof element);
}

template <typename F, typename R, typename... Ts>
void compute(const std::byte* const* operands, std::byte* result) {
  store<F, R, Ts...>(operands, result, std::index_sequence_for<Ts...>{});
}

template <typename To>
struct Cast {
  template <typename From>
  To operator()(From x) const {
    return scalar::cast<To>(x);
  }
};

template <DType D>
ScalarFunction function_of(Op op, DType result) {
  using T = Storage<D>;
  switch (op) {
#define DVM_OPERANDS_1 T
#define DVM_OPERANDS_2 T, T
#define DVM_ELEMENTWISE(name, arity, dtypes, result, ...)                                  \
  case Op::name:                                                                           \
    if constexpr (allows(OperandRule::dtypes, D)) {                                        \
      using R = std::conditional_t<ResultRule::result == ResultRule::boolean, uint8_t, T>; \
      return compute<scalar::name, R, DVM_OPERANDS_##arity>;                               \
    }                                                                                      \
    break;
#include "core/ops/elementwise.def"
#undef DVM_ELEMENTWISE
#undef DVM_OPERANDS_1
#undef DVM_OPERANDS_2
#define DVM_COMPARE(name, op, numpy) \
  case Op::name:                     \
    return compute<scalar::name, uint8_t, T, T>;
#include "core/ops/compare.def"
#undef DVM_COMPARE
    case Op::select:
      return compute<scalar::select, T, uint8_t, T, T>;
    case Op::cast:
      return dispatch(result, []<DType To>() -> ScalarFunction {
        if constexpr (kOfNumbers.contains(To)) {
          return compute<Cast<Storage<To>>, Storage<To>, T>;
        } else {
          return nullptr;
        }
      });
    default:
      break;
  }
  return nullptr;
}

}  // namespace

ScalarFunction scalar_function(Op op, DType last, DType result) {
  return dispatch(last, [&]<DType D>() -> ScalarFunction {
    if constexpr (kOfNumbers.contains(D)) {
      return function_of<D>(op, result);
    } else {
      return nullptr;
    }
  });
}

}  // namespace dvm::core
