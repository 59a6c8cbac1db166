// The cpu's body of every elementwise instruction: one line per row of core/elementwise.def.
//   floating   over float and double; halves arrive as float and are rounded afterwards
//   integer    over a, b (signed) or ua, ub (unsigned, where overflow wraps)
//   boolean    over bool; `kNever` where the row allows none
// A quiet op raises no status flags, as NumPy's does not, even though its comparisons with NaN
// would. The expressions are what a compiler can vectorise: selects, not calls, wherever possible.
// Their meaning is that of core/scalar_ops.h, against which the tests compare them.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "cpu/elements.h"

namespace dvm::cpu::tile_ops {

inline constexpr int kNever = 0;

// Where integers wrap: bytes and shorts would promote to int, which overflows.
template <typename T>
using Unsigned = std::common_type_t<unsigned, std::make_unsigned_t<T>>;

template <typename T>
DVM_ALWAYS_INLINE T magnitude(T x) {
  return x < T{0} ? static_cast<T>(0 - static_cast<Unsigned<T>>(x)) : x;
}

#define DVM_TILE_OP(name, floating, integer, boolean) \
  DVM_TILE_OP_FLAGS(name, false, floating, integer, boolean)
#define DVM_TILE_OP_QUIET(name, floating, integer, boolean) \
  DVM_TILE_OP_FLAGS(name, true, floating, integer, boolean)
#define DVM_TILE_OP_FLAGS(name, quiet, floating, integer, boolean)                 \
  struct name {                                                                    \
    static constexpr bool kQuiet = quiet;                                          \
    template <typename T>                                                          \
    DVM_ALWAYS_INLINE static T apply([[maybe_unused]] T a, [[maybe_unused]] T b) { \
      if constexpr (std::is_floating_point_v<T>) {                                 \
        return floating;                                                           \
      } else if constexpr (std::is_same_v<T, bool>) {                              \
        return static_cast<T>(boolean);                                            \
      } else {                                                                     \
        [[maybe_unused]] const auto ua = static_cast<Unsigned<T>>(a);              \
        [[maybe_unused]] const auto ub = static_cast<Unsigned<T>>(b);              \
        return static_cast<T>(integer);                                            \
      }                                                                            \
    }                                                                              \
  };

// `a != a` keeps the first of two NaNs, and `>=` the first of two zeros, as NumPy does.
DVM_TILE_OP(add, a + b, ua + ub, a | b)
DVM_TILE_OP(sub, a - b, ua - ub, kNever)
DVM_TILE_OP(mul, a* b, ua* ub, a& b)
DVM_TILE_OP(div, a / b, kNever, kNever)
DVM_TILE_OP_QUIET(maximum, (a >= b || a != a) ? a : b, a > b ? a : b, a | b)
DVM_TILE_OP_QUIET(minimum, (a <= b || a != a) ? a : b, a < b ? a : b, a& b)
DVM_TILE_OP_QUIET(neg, -a, 0 - ua, kNever)
DVM_TILE_OP_QUIET(abs, std::fabs(a), magnitude(a), a)
DVM_TILE_OP(sqrt, std::sqrt(a), kNever, kNever)
DVM_TILE_OP(exp, std::exp(a), kNever, kNever)
DVM_TILE_OP(log, std::log(a), kNever, kNever)
DVM_TILE_OP(log1p, std::log1p(a), kNever, kNever)
DVM_TILE_OP(tanh, std::tanh(a), kNever, kNever)

#undef DVM_TILE_OP
#undef DVM_TILE_OP_QUIET
#undef DVM_TILE_OP_FLAGS

}  // namespace dvm::cpu::tile_ops
