// The cpu's bodies of elementwise instructions that a compiler turns into SIMD: at most one line
// per row of core/ops/elementwise.def. A row without one runs as core/ops/scalar_ops.h writes it
// (plain_rows).
//   floating   over float and double; halves are converted to float and back
//   integer    over a, b (as they are) or ua, ub (unsigned, where overflow wraps)
//   boolean    over bool; `kNever` where the row allows none
// Functions of core/math_*.h have a line of their own: quiet, over float and double, raising the
// flags that their struct says. Integers of such a row are plain. A quiet op raises no status
// flags, as NumPy's does not, even though its comparisons with NaN would. The expressions are what
// a compiler can vectorise: selects, not calls, wherever possible. Their meaning is that of
// core/ops/scalar_ops.h, against which the tests compare them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/math/functions.h"
#include "core/math/parts.h"
#include "core/ops/scalar_math.h"
#include "cpu/move/elements.h"

namespace dvm::cpu::tile_ops {

namespace math = core::math;

#define DVM_ELEMENTWISE(name, ...) struct name;
#include "core/ops/elementwise.def"
#undef DVM_ELEMENTWISE

// Whether the row has a body here.
template <typename Op>
concept Written = requires {
  sizeof(Op);
};

// Whether it is a function of core/math_*.h.
template <typename Op>
concept Function = Written<Op> && requires {
  typename Op::Signs;
};

// Whether halves are computed as floats are, and rounded.
template <typename Op>
inline constexpr bool kHalvesAsFloats =
    !std::is_same_v<Op, nextafter> && !std::is_same_v<Op, spacing>;

inline constexpr int kNever = 0;

// Where integers wrap: bytes and shorts would promote to int, which overflows.
template <typename T>
using Unsigned = std::common_type_t<unsigned, std::make_unsigned_t<T>>;

template <typename T>
DVM_ALWAYS_INLINE T magnitude(T x) {
  return math::negative(x) ? static_cast<T>(0 - static_cast<Unsigned<T>>(x)) : x;
}

// Both sides of the choice are computed, so that it is one.
template <typename T>
DVM_ALWAYS_INLINE T shift_left(T a, T by) {
  constexpr unsigned kWidth = 8 * sizeof(T), kLast = 8 * sizeof(Unsigned<T>) - 1;
  const auto shifted = static_cast<T>(static_cast<Unsigned<T>>(a) << (by & kLast));
  return static_cast<Unsigned<T>>(by) < kWidth ? shifted : T{0};
}
template <typename T>
DVM_ALWAYS_INLINE T shift_right(T a, T by) {
  constexpr unsigned kLast = 8 * sizeof(T) - 1;
  const bool inside = static_cast<Unsigned<T>>(by) <= kLast;
  const auto shifted = static_cast<T>(a >> (inside ? static_cast<unsigned>(by) : kLast));
  return inside || std::is_signed_v<T> ? shifted : T{0};
}

// std::signbit, which GCC 12 cannot vectorise without crashing.
template <typename T>
DVM_ALWAYS_INLINE bool is_negative(T x) {
  return std::bit_cast<std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>(x) < 0;
}

#define DVM_TILE_OP(name, floating, integer, boolean) \
  DVM_TILE_BODY(name, T, false, floating, integer, boolean)
#define DVM_TILE_OP_QUIET(name, floating, integer, boolean) \
  DVM_TILE_BODY(name, T, true, floating, integer, boolean)
// A question: quiet, and the answer is a bool.
#define DVM_TILE_ASK(name, floating, integer, boolean) \
  DVM_TILE_BODY(name, bool, true, floating, integer, boolean)
#define DVM_TILE_BODY(name, Result, quiet, floating, integer, boolean)                  \
  struct name {                                                                         \
    static constexpr bool kQuiet = quiet;                                               \
    template <typename T>                                                               \
    DVM_ALWAYS_INLINE static Result apply([[maybe_unused]] T a, [[maybe_unused]] T b) { \
      if constexpr (std::is_floating_point_v<T>) {                                      \
        return floating;                                                                \
      } else if constexpr (std::is_same_v<T, bool>) {                                   \
        return static_cast<Result>(boolean);                                            \
      } else {                                                                          \
        [[maybe_unused]] const auto ua = static_cast<Unsigned<T>>(a);                   \
        [[maybe_unused]] const auto ub = static_cast<Unsigned<T>>(b);                   \
        return static_cast<Result>(integer);                                            \
      }                                                                                 \
    }                                                                                   \
  };

#define DVM_TILE_MATH(name, SignsOfIt)                         \
  struct name {                                                \
    using Signs = math::SignsOfIt;                             \
    template <typename A, math::Domain kDomain, typename... T> \
    DVM_ALWAYS_INLINE static auto compute(T... x) {            \
      if constexpr (math::HasSpecialArguments<Signs, T...>) {  \
        return math::name<A, kDomain>(x...);                   \
      } else {                                                 \
        return math::name<A>(x...);                            \
      }                                                        \
    }                                                          \
  };

// `a != a` keeps the first of two NaNs, and `>` the second of two zeros, as NumPy does.
DVM_TILE_OP(add, a + b, ua + ub, a | b)
DVM_TILE_OP(sub, a - b, ua - ub, kNever)
DVM_TILE_OP(mul, a* b, ua* ub, a& b)
DVM_TILE_OP(div, a / b, kNever, kNever)
DVM_TILE_OP_QUIET(maximum, (a > b || a != a) ? a : b, a > b ? a : b, a | b)
DVM_TILE_OP_QUIET(minimum, (a < b || a != a) ? a : b, a < b ? a : b, a& b)
DVM_TILE_OP_QUIET(fmax, (b > a || a != a) ? b : a, a > b ? a : b, a | b)
DVM_TILE_OP_QUIET(fmin, (b < a || a != a) ? b : a, a < b ? a : b, a& b)
DVM_TILE_OP_QUIET(neg, -a, 0 - ua, kNever)
DVM_TILE_OP_QUIET(abs, std::fabs(a), magnitude(a), a)
DVM_TILE_OP_QUIET(fabs, std::fabs(a), kNever, kNever)
DVM_TILE_OP_QUIET(positive, a, a, kNever)
DVM_TILE_OP_QUIET(sign, math::sign(a), math::sign(a), kNever)
DVM_TILE_OP_QUIET(copysign, std::copysign(a, b), kNever, kNever)
DVM_TILE_OP_QUIET(heaviside, math::heaviside(a, b), kNever, kNever)
DVM_TILE_OP(square, a* a, ua* ua, kNever)
DVM_TILE_OP(reciprocal, 1 / a, math::reciprocal(a), kNever)
DVM_TILE_OP(sqrt, std::sqrt(a), kNever, kNever)
DVM_TILE_OP(deg2rad, math::deg2rad(a), kNever, kNever)
DVM_TILE_OP(rad2deg, math::rad2deg(a), kNever, kNever)
DVM_TILE_OP_QUIET(floor, math::floor(a), a, a)
DVM_TILE_OP_QUIET(ceil, math::ceil(a), a, a)
DVM_TILE_OP_QUIET(trunc, math::trunc(a), a, a)
DVM_TILE_OP_QUIET(rint, std::nearbyint(a), kNever, kNever)
DVM_TILE_OP_QUIET(frexp_mantissa, math::frexp_mantissa(a), kNever, kNever)
DVM_TILE_OP_QUIET(frexp_exponent, math::frexp_exponent(a), kNever, kNever)
DVM_TILE_OP(ldexp, math::ldexp(a, b), kNever, kNever)
DVM_TILE_OP_QUIET(modf_fraction, math::modf_fraction(a), kNever, kNever)

DVM_TILE_ASK(isnan, a != a, false, false)
DVM_TILE_ASK(isinf, math::isinf(a), false, false)
DVM_TILE_ASK(isfinite, math::isfinite(a), true, true)
DVM_TILE_ASK(signbit, is_negative(a), kNever, kNever)
DVM_TILE_ASK(logical_and, (a != 0) & (b != 0), (a != 0) & (b != 0), a& b)
DVM_TILE_ASK(logical_or, (a != 0) | (b != 0), (a != 0) | (b != 0), a | b)
DVM_TILE_ASK(logical_xor, (a != 0) ^ (b != 0), (a != 0) ^ (b != 0), a ^ b)
DVM_TILE_ASK(logical_not, a == 0, a == 0, !a)

DVM_TILE_OP(bitwise_and, kNever, ua& ub, a& b)
DVM_TILE_OP(bitwise_or, kNever, ua | ub, a | b)
DVM_TILE_OP(bitwise_xor, kNever, ua ^ ub, a ^ b)
DVM_TILE_OP(invert, kNever, ~ua, !a)
DVM_TILE_OP(left_shift, kNever, shift_left(a, b), kNever)
DVM_TILE_OP(right_shift, kNever, shift_right(a, b), kNever)
DVM_TILE_OP(bitwise_count, kNever, math::bitwise_count(a), kNever)

DVM_TILE_MATH(nextafter, NextafterFlags)
DVM_TILE_MATH(spacing, SpacingFlags)
DVM_TILE_MATH(exp, ExpFlags)
DVM_TILE_MATH(exp2, Exp2Flags)
DVM_TILE_MATH(expm1, Expm1Flags)
DVM_TILE_MATH(log, LogFlags)
DVM_TILE_MATH(log1p, Log1pFlags)
DVM_TILE_MATH(log2, LogFlags)
DVM_TILE_MATH(log10, LogFlags)
DVM_TILE_MATH(logaddexp, LogaddexpFlags)
DVM_TILE_MATH(logaddexp2, Logaddexp2Flags)
DVM_TILE_MATH(power, PowerFlags)
DVM_TILE_MATH(cbrt, CbrtFlags)
DVM_TILE_MATH(hypot, HypotFlags)
DVM_TILE_MATH(sin, SinFlags)
DVM_TILE_MATH(cos, CosFlags)
DVM_TILE_MATH(tan, TanFlags)
DVM_TILE_MATH(arcsin, ArcsinFlags)
DVM_TILE_MATH(arccos, ArccosFlags)
DVM_TILE_MATH(arctan, NoFlags)
DVM_TILE_MATH(arctan2, Arctan2Flags)
DVM_TILE_MATH(sinh, SinhFlags)
DVM_TILE_MATH(cosh, CoshFlags)
DVM_TILE_MATH(tanh, NoFlags)
DVM_TILE_MATH(arcsinh, ArcsinhFlags)
DVM_TILE_MATH(arccosh, ArccoshFlags)
DVM_TILE_MATH(arctanh, ArctanhFlags)
DVM_TILE_MATH(erf, NoFlags)
DVM_TILE_MATH(floor_divide, FloorDivideFlags)
DVM_TILE_MATH(remainder, RemainderFlags)
DVM_TILE_MATH(fmod, FmodFlags)

#undef DVM_TILE_OP
#undef DVM_TILE_OP_QUIET
#undef DVM_TILE_ASK
#undef DVM_TILE_BODY
#undef DVM_TILE_MATH

}  // namespace dvm::cpu::tile_ops
