// The scalar meaning of every op that computes: what the reference evaluator and the simulated
// targets execute and what fast kernels are tested against. NumPy's semantics, except that what C
// leaves undefined (integer overflow, casts out of range) is defined here.
//
// Each op is a functor on storage types (int32_t, Half, ..., bool as uint8_t) named after its row.
// Storage is lifted to a type whose operators mean the right thing, and the result lowered:
//   bool -> Bit (+ is or, * is and)   integers -> Wrapping   halves -> float, rounded once   float
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include "core/math/functions.h"
#include "core/math/parts.h"
#include "core/ops/dtype.h"
#include "core/ops/scalar_math.h"
#include "core/ops/sum_order.h"

namespace dvm::core::scalar {

struct Bit {
  bool v;
  auto operator<=>(const Bit&) const = default;
  friend Bit operator+(Bit a, Bit b) { return {a.v || b.v}; }
  friend Bit operator*(Bit a, Bit b) { return {a.v && b.v}; }
};

// Two's complement arithmetic. Done in uint64_t: narrower unsigned types promote to signed int.
template <typename T>
struct Wrapping {
  T v;
  auto operator<=>(const Wrapping&) const = default;
  static Wrapping of(uint64_t x) { return {static_cast<T>(x)}; }
  uint64_t bits() const { return static_cast<uint64_t>(v); }
  friend Wrapping operator+(Wrapping a, Wrapping b) { return of(a.bits() + b.bits()); }
  friend Wrapping operator-(Wrapping a, Wrapping b) { return of(a.bits() - b.bits()); }
  friend Wrapping operator*(Wrapping a, Wrapping b) { return of(a.bits() * b.bits()); }
  friend Wrapping operator-(Wrapping a) { return of(-a.bits()); }
};

inline Bit lift(uint8_t x) { return {x != 0}; }
template <std::integral T>
Wrapping<T> lift(T x) {
  return {x};
}
// NaNs that signal raise as they would in the conversion by hardware.
template <AnyHalf H>
float widened(H x) {
  if (signals<H>(x.bits)) raise(kInvalid);
  return to_float(x);
}

template <AnyHalf H>
float lift(H x) {
  return widened(x);
}
inline float lift(float x) { return x; }
inline double lift(double x) { return x; }

// What core/ops/scalar_math.h takes.
inline bool plain(uint8_t x) { return x != 0; }
template <typename T>
auto plain(T x) {
  if constexpr (AnyHalf<T>) {
    return widened(x);
  } else {
    return x;
  }
}

inline uint8_t lower(Bit x) { return x.v; }
template <typename T>
T lower(Wrapping<T> x) {
  return x.v;
}
template <typename Storage, typename Lifted>
Storage lower_to(Lifted x) {
  if constexpr (AnyHalf<Storage>) {
    return to_half<Storage>(x);
  } else if constexpr (std::is_arithmetic_v<Lifted>) {
    return static_cast<Storage>(x);
  } else {
    return lower(x);
  }
}

// Not a < 0 ? -a : a for floats, which would keep the sign of -0.0 and NaN.
template <typename T>
T magnitude(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fabs(x);
  } else {
    return x.v < 0 ? -x : x;
  }
}
inline Bit magnitude(Bit x) { return x; }

#define DVM_SCALAR_1(name, expression) \
  struct name {                        \
    template <typename T>              \
    T operator()(T x) const {          \
      const auto a = lift(x);          \
      return lower_to<T>(expression);  \
    }                                  \
  }
#define DVM_SCALAR_2(name, expression)     \
  struct name {                            \
    template <typename T>                  \
    T operator()(T x, T y) const {         \
      const auto a = lift(x), b = lift(y); \
      return lower_to<T>(expression);      \
    }                                      \
  }

// The same on plain values, and questions, whose answer is a bool.
#define DVM_PLAIN_1(name, expression) \
  struct name {                       \
    template <typename T>             \
    T operator()(T x) const {         \
      const auto a = plain(x);        \
      return lower_to<T>(expression); \
    }                                 \
  }
#define DVM_PLAIN_2(name, expression)        \
  struct name {                              \
    template <typename T>                    \
    T operator()(T x, T y) const {           \
      const auto a = plain(x), b = plain(y); \
      return lower_to<T>(expression);        \
    }                                        \
  }
#define DVM_ASK_1(name, expression) \
  struct name {                     \
    template <typename T>           \
    uint8_t operator()(T x) const { \
      const auto a = plain(x);      \
      return expression;            \
    }                               \
  }
#define DVM_ASK_2(name, expression)          \
  struct name {                              \
    template <typename T>                    \
    uint8_t operator()(T x, T y) const {     \
      const auto a = plain(x), b = plain(y); \
      return expression;                     \
    }                                        \
  }

// A function of core/math_*.h and what it says of its arguments; that is of floats. Integers, where
// the row allows them, compute as scalar_math.h says.
#define DVM_MATH(name, SignsOfIt)                                            \
  struct name {                                                              \
    using Signs = math::SignsOfIt;                                           \
    template <typename... T>                                                 \
    static auto compute(T... x) {                                            \
      return math::name<math::Fused>(x...);                                  \
    }                                                                        \
    template <typename T, typename... U>                                     \
    T operator()(T x, U... y) const {                                        \
      if constexpr (std::is_integral_v<T>) {                                 \
        return lower_to<T>(math::name(plain(x), plain(y)...));               \
      } else {                                                               \
        const auto f = [](auto... a) { return compute(a...); };              \
        return lower_to<T>(math::evaluate<Signs>(f, plain(x), plain(y)...)); \
      }                                                                      \
    }                                                                        \
  }

// One line per row of elementwise.def.
DVM_SCALAR_2(add, a + b);
DVM_SCALAR_2(sub, a - b);
DVM_SCALAR_2(mul, (a * b));
DVM_SCALAR_2(div, a / b);
DVM_SCALAR_2(maximum, a > b || a != a ? a : b);  // the first of two NaNs, the second of two zeros
DVM_SCALAR_2(minimum, a < b || a != a ? a : b);
DVM_SCALAR_1(neg, -a);
DVM_SCALAR_1(abs, magnitude(a));
DVM_SCALAR_1(sqrt, std::sqrt(a));
DVM_MATH(exp, ExpFlags);
DVM_MATH(log, LogFlags);
DVM_MATH(log1p, Log1pFlags);
DVM_MATH(tanh, NoFlags);

DVM_MATH(floor_divide, FloorDivideFlags);
DVM_MATH(remainder, RemainderFlags);
DVM_MATH(fmod, FmodFlags);
DVM_MATH(power, PowerFlags);
DVM_PLAIN_1(square, math::square(a));
DVM_PLAIN_1(reciprocal, math::reciprocal(a));
DVM_PLAIN_1(positive, a);
DVM_PLAIN_1(fabs, std::fabs(a));
DVM_PLAIN_1(sign, math::sign(a));
DVM_PLAIN_2(copysign, std::copysign(a, b));
DVM_PLAIN_2(fmax, math::fmax(a, b));
DVM_PLAIN_2(fmin, math::fmin(a, b));
DVM_PLAIN_2(heaviside, math::heaviside(a, b));
DVM_PLAIN_2(gcd, math::gcd(a, b));
DVM_PLAIN_2(lcm, math::lcm(a, b));

DVM_PLAIN_1(floor, math::floor(a));
DVM_PLAIN_1(ceil, math::ceil(a));
DVM_PLAIN_1(trunc, math::trunc(a));
DVM_PLAIN_1(rint, std::nearbyint(a));

DVM_PLAIN_2(ldexp, math::ldexp(a, b));
DVM_PLAIN_1(frexp_mantissa, math::frexp_mantissa(a));
DVM_PLAIN_1(frexp_exponent, math::frexp_exponent(a));
DVM_PLAIN_1(modf_fraction, math::modf_fraction(a));

DVM_MATH(cbrt, CbrtFlags);
DVM_MATH(exp2, Exp2Flags);
DVM_MATH(expm1, Expm1Flags);
DVM_MATH(log2, LogFlags);
DVM_MATH(log10, LogFlags);
DVM_MATH(logaddexp, LogaddexpFlags);
DVM_MATH(logaddexp2, Logaddexp2Flags);
DVM_MATH(sin, SinFlags);
DVM_MATH(cos, CosFlags);
DVM_MATH(tan, TanFlags);
DVM_MATH(arcsin, ArcsinFlags);
DVM_MATH(arccos, ArccosFlags);
DVM_MATH(arctan, NoFlags);
DVM_MATH(arctan2, Arctan2Flags);
DVM_MATH(sinh, SinhFlags);
DVM_MATH(cosh, CoshFlags);
DVM_MATH(arcsinh, ArcsinhFlags);
DVM_MATH(arccosh, ArccoshFlags);
DVM_MATH(arctanh, ArctanhFlags);
DVM_MATH(hypot, HypotFlags);
DVM_MATH(erf, NoFlags);
DVM_PLAIN_1(deg2rad, math::deg2rad(a));
DVM_PLAIN_1(rad2deg, math::rad2deg(a));

DVM_ASK_1(isnan, math::isnan(a));
DVM_ASK_1(isinf, math::isinf(a));
DVM_ASK_1(isfinite, math::isfinite(a));
DVM_ASK_1(signbit, std::signbit(a));
DVM_ASK_2(logical_and, (a != 0) & (b != 0));
DVM_ASK_2(logical_or, (a != 0) | (b != 0));
DVM_ASK_2(logical_xor, (a != 0) ^ (b != 0));
DVM_ASK_1(logical_not, a == 0);

DVM_PLAIN_2(bitwise_and, (a & b));
DVM_PLAIN_2(bitwise_or, a | b);
DVM_PLAIN_2(bitwise_xor, a ^ b);
DVM_PLAIN_1(invert, math::invert(a));
DVM_PLAIN_2(left_shift, math::left_shift(a, b));
DVM_PLAIN_2(right_shift, math::right_shift(a, b));
DVM_PLAIN_1(bitwise_count, math::bitwise_count(a));

#undef DVM_SCALAR_1
#undef DVM_SCALAR_2
#undef DVM_PLAIN_1
#undef DVM_PLAIN_2
#undef DVM_ASK_1
#undef DVM_ASK_2
#undef DVM_MATH

// The neighbour of a half is a half's, not that of the float it computes as.
struct nextafter {  // NOLINT(readability-identifier-naming)
  template <typename T>
  T operator()(T a, T b) const {
    const auto f = [](T x, T y) { return math::nextafter<math::Fused>(x, y); };
    return math::evaluate<math::NextafterFlags>(f, a, b);
  }
  template <AnyHalf H>
  H operator()(H a, H b) const {
    const float x = to_float(a), y = to_float(b);
    if (x != x || y != y) return to_half<H>(x + y);
    if (x == y) return a;
    if (x == 0) return {static_cast<uint16_t>((b.bits & 0x8000) | 1)};
    const bool away = (x > 0) == (y > x);
    const H next{static_cast<uint16_t>(away ? a.bits + 1 : a.bits - 1)};
    if ((next.bits & 0x7fff) == H::kInfinity) raise(kOverflow);
    return next;
  }
};

// NumPy measures its half upwards, whatever the sign: the step of the binade in which the nearer to
// zero of the two lies. Others go outwards, as floats do.
struct spacing {  // NOLINT(readability-identifier-naming)
  template <typename T>
  T operator()(T a) const {
    const auto f = [](T x) { return math::spacing<math::Fused>(x); };
    return math::evaluate<math::SpacingFlags>(f, a);
  }
  Half operator()(Half a) const {
    const uint32_t magnitude = a.bits & 0x7fffu;
    if (magnitude >= 0x7c00) {
      raise(kInvalid);
      return {0x7e00};
    }
    if (a.bits == 0x7bff) {
      raise(kOverflow);
      return {0x7c00};
    }
    const bool down = a.bits > 0x8000;
    const uint32_t binade = (magnitude - (down ? 1 : 0)) >> 10;
    if (binade > 10) return {static_cast<uint16_t>((binade - 10) << 10)};
    return {static_cast<uint16_t>(1u << (binade > 1 ? binade - 1 : 0))};
  }
  BFloat16 operator()(BFloat16 a) const {
    if ((a.bits & 0x7fff) >= BFloat16::kInfinity) {
      raise(kInvalid);
      return {BFloat16::kNan};
    }
    const BFloat16 next{static_cast<uint16_t>(a.bits + 1)};
    if ((next.bits & 0x7fff) == BFloat16::kInfinity) raise(kOverflow);
    return to_half<BFloat16>(to_float(next) - to_float(a));  // exact
  }
};

// One functor per row of compare.def.
#define DVM_COMPARE(name, op, numpy)     \
  struct name {                          \
    template <typename T>                \
    uint8_t operator()(T x, T y) const { \
      return lift(x) op lift(y);         \
    }                                    \
  };
#include "core/ops/compare.def"
#undef DVM_COMPARE

struct select {  // NOLINT(readability-identifier-naming): named like its op, as all here
  template <typename T>
  T operator()(uint8_t c, T a, T b) const {
    return c != 0 ? a : b;
  }
};

// A float on its way to a narrower or unsigned integer passes through i32 or i64, and then wraps:
// so does NumPy, and programs rely on it where 256.0 is meant to become a byte.
//
// The floats that do so truncate: [kLow, kEnd). The wide unsigned ones hold more above zero; NumPy
// refuses for u32 what is below the range of i32.
template <typename To, typename From>
struct Truncation {
  static constexpr bool kWideUnsigned = std::is_unsigned_v<To> && sizeof(To) >= 4;
  using Signed = std::conditional_t<sizeof(To) == 8, int64_t, int32_t>;
  static constexpr From kLow = static_cast<From>(std::numeric_limits<Signed>::min());
  static constexpr From kEnd = kWideUnsigned ? kLow * -2 : -kLow;
};

// Float to integer truncates; beyond its Truncation it saturates, and NaN is 0. To bool is != 0, so
// NaN is true. Integers wrap. Float to float rounds once.
template <typename To, typename From>
To cast(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (AnyHalf<From>) {
    return cast<To>(widened(x));
  } else if constexpr (std::is_same_v<To, uint8_t>) {
    return x != From{0};
  } else if constexpr (AnyHalf<To>) {
    return to_half<To>(before_half<To>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Range = Truncation<To, From>;
    using Signed = typename Range::Signed;
    if (x >= Range::kLow && x < -Range::kLow) return static_cast<To>(static_cast<Signed>(x));
    if (x >= Range::kLow && x < Range::kEnd) return static_cast<To>(x);
    if (x != x) return 0;
    if (x < 0) return static_cast<To>(std::numeric_limits<Signed>::min());
    return Range::kWideUnsigned ? std::numeric_limits<To>::max()
                                : static_cast<To>(std::numeric_limits<Signed>::max());
  } else {
    return static_cast<To>(x);
  }
}

// What partial sums of T are held in; a sum rounds to T once, at the end.
template <typename T>
using SumType = std::conditional_t<AnyHalf<T>, float, T>;

// The two reductions. Partials of halves that are stored as halves change the result;
// pass_widen_sums exists for targets that store them. A maximum may be cut anywhere. count >= 1
// elements, in the order of sum_order.h. A sum adds to 0 and so is never -0, as in NumPy.
template <typename T, typename Load>
T sum(int64_t count, bool adjacent, Load load) {
  using S = SumType<T>;
  const S total = reduce_canonical<S>(
      count, adjacent, [&](int64_t i) { return cast<S>(load(i)); }, add{});
  return cast<T>(add{}(total, cast<S>(0)));
}

template <typename T, typename Load>
T max(int64_t count, bool adjacent, Load load) {
  return reduce_canonical<T>(count, adjacent, load, maximum{});
}

}  // namespace dvm::core::scalar
