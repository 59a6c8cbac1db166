// power in f32 and f64, at most 1.9 and 1.3 ulp (tests/cpp/core/math_ulp_test.cpp): e**(b log a),
// or 2**(b log2 a) in f32, with the logarithm in two parts. That takes a fused multiply-add; levels
// without one run the meaning of scalar_ops.h. A negative base gives the sign by which whole
// exponent it has. Zeros, infinities, NaN and what may overflow or be subnormal are the library's.
#pragma once

#include "core/math_log.h"

namespace dvm::core::math {

template <Float T>
struct PowerTable;
template <>
struct PowerTable<float> {
  // 2 / log 2, and that times (arctanh(s) / s - 1) / z over z = s**2: 2**-36.4 of the logarithm
  static constexpr float kScale = 0x1.715476p1f, kScaleLow = 0x1.4ae0cp-25f;
  static constexpr float kArctanh[] = {0x1.ec709ep-1f, 0x1.2776e0p-1f, 0x1.a5d042p-2f,
                                       0x1.58910cp-2f};
  // 2 / log 2 + 3 z * P(z) of some s, nearly right for all: what the digits below s count.
  static constexpr float kBelow = 2.927f;
  // 2**r: 2**-28.3
  static constexpr float kExp2[] = {1,
                                    0x1.62e430p-1f,
                                    0x1.ebfbdcp-3f,
                                    0x1.c6af7ap-5f,
                                    0x1.3b2dd4p-7f,
                                    0x1.5f095ap-10f,
                                    0x1.4178b0p-13f};
  // Beyond, 31 digits of the logarithm are not enough for 2 to that power.
  static constexpr float kFar = 46;
};
template <>
struct PowerTable<double> {
  // (arctanh(s) / s - 1 - z / 3) / z**2: 2**-73.5
  static constexpr double kArctanh[] = {
      0x1.9999999999996p-3, 0x1.2492492492f51p-3, 0x1.c71c71c5968c2p-4, 0x1.745d18295a2fep-4,
      0x1.3b1364c7c6441p-4, 0x1.11206f7b6ade3p-4, 0x1.de3d61890edfbp-5, 0x1.eac6508348474p-5};
  static constexpr double kThird = 0x1.5555555555555p-2, kThirdLow = 0x1.5555555555555p-56;
  static constexpr double kFar = 707;  // e**kFar is finite, e**-kFar is normal
};

// high + low, with |low| at most an ulp of high.
template <Float T>
struct Pair {
  T high, low;
};
// a + b of |a| >= |b|, or a == 0.
template <Float T>
DVM_ALWAYS_INLINE Pair<T> add_smaller(T a, T b) {
  const T sum = a + b;
  return {sum, (a - sum) + b};
}

// arctanh s - s = s * u, u = z / 3 + z**2 * P(z)
template <typename A>
DVM_ALWAYS_INLINE Pair<double> arctanh_rest(Pair<double> s) {
  using C = PowerTable<double>;
  const double z = s.high * s.high;
  const double z_low = A::mul_add(s.high + s.high, s.low, A::mul_add(s.high, s.high, -z));
  const Pair<double> t = add_smaller(C::kThird, z * polynomial<A>(z, C::kArctanh));
  const double u = z * t.high;
  const double u_low =
      A::mul_add(z, t.low + C::kThirdLow, A::mul_add(z_low, t.high, A::mul_add(z, t.high, -u)));
  const double v = s.high * u;
  return {v, A::mul_add(s.high, u_low, A::mul_add(s.low, u, A::mul_add(s.high, u, -v)))};
}

// The natural logarithm of a positive normal number, to some 68 digits: 2 arctanh s + k log 2 with
// s = (m - 1) / (m + 1).
template <typename A>
DVM_ALWAYS_INLINE Pair<double> log_pair(double x) {
  using C = ExpTable<double>;
  const Binary<double> b = split(x);
  const double f = b.m - 1, d = b.m + 1, d_low = b.m - (d - 1);
  const double inverse = 1 / d, s = f * inverse;
  const double s_low = inverse * A::mul_add(-s, d_low, A::mul_add(-s, d, f));
  const Pair<double> rest = arctanh_rest<A>(Pair<double>{s, s_low});
  const Pair<double> half = add_smaller(s, rest.high);
  const double low = 2 * (half.low + (rest.low + s_low));
  const Pair<double> sum = add_smaller(b.k * C::kLn2High, 2 * half.high);
  return {sum.high, sum.low + A::mul_add(b.k, C::kLn2Low, low)};
}

// The same to base 2, to some 31 digits, of which `low` has more than those below `high`:
//   k + kScale * (s + s_low) + s**3 * P(s**2)
template <typename A>
DVM_ALWAYS_INLINE Pair<float> log_pair(float x) {
  using C = PowerTable<float>;
  const Binary<float> b = split(x);
  const float k = b.k * (1 / Binary<float>::kUnit);
  const float f = b.m - 1, d = f + 2, d_low = f - (d - 2);
  const float s = f / d, inverse = A::mul_add(s, -0.5f, 0.5f);  // of d
  const float s_low = inverse * A::mul_add(-s, d_low, A::mul_add(-s, d, f));
  const float z = s * s, rest = A::mul_add(z, polynomial<A>(z, C::kArctanh), C::kScaleLow);
  const float high = A::mul_add(s, C::kScale, k);
  const float lost = A::mul_add(s, C::kScale, k - high);
  return {high, A::mul_add(s_low, C::kBelow, A::mul_add(s, rest, lost))};
}

template <typename A, Float T>
DVM_ALWAYS_INLINE Pair<T> scaled_log(T x, T exponent) {
  const Pair<T> log = log_pair<A>(x);
  const T high = exponent * log.high;
  return {high, A::mul_add(exponent, log.low, A::mul_add(exponent, log.high, -high))};
}

// What log_pair is the logarithm of.
template <typename A>
DVM_ALWAYS_INLINE double exp_of_pair(Pair<double> y) {
  using C = ExpTable<double>;
  const double t = A::mul_add(y.high, C::kLog2E, Format<double>::kRound);
  const double n = t - Format<double>::kRound;
  double r = A::mul_add(n, -C::kLn2High, y.high);
  r = A::mul_add(n, -C::kLn2Low, r) + y.low;
  return scale(1 + exp_minus_one_near_zero<A>(r, C::kQuotient), t);
}
template <typename A>
DVM_ALWAYS_INLINE float exp_of_pair(Pair<float> y) {
  constexpr float kRound = Format<float>::kRound;
  const float t = (y.high + y.low) + kRound;
  const float r = (y.high - (t - kRound)) + y.low;
  return scale(polynomial<A>(r, PowerTable<float>::kExp2), t);
}

// What may overflow or be subnormal, and bases that are not normal, are hard; negative bases are
// special.
struct PowerFlags {
  static constexpr bool kNeedsExact = true;

  // Most of it is what `power` computes as well, and so costs nothing beside it.
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> special(T x, T exponent) {
    const T log = scaled_log<Fused>(x, exponent).high;
    return not_positive_normal(x) | beyond_magnitude(PowerTable<T>::kFar, log);
  }
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> hard(T x, T exponent) {
    return special(absolute(x), exponent);
  }
  // Roots of negative numbers that are not hard.
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> invalid(T x, T exponent) {
    const Bits<T> part = std::trunc(exponent) == exponent ? Bits<T>{0} : ~Bits<T>{0};
    const Bits<T> none = not_positive_normal(absolute(x)) |
                         beyond_magnitude(std::numeric_limits<T>::max(), exponent);
    return to_bits(x) & part & ~none;
  }
  template <Float T>
  static T by_library(T x, T exponent) {
    // To infinity by an infinite exponent is exact, and yet NumPy may warn.
    const T result = std::pow(x, exponent);
    if (std::isinf(exponent) && std::isinf(result) && std::isfinite(x)) {
      raise(x == 0 ? kDivideByZero : kOverflow);
    }
    return result;
  }
};

template <typename A, Domain kDomain = Domain::all, Float T>
DVM_ALWAYS_INLINE T power(T x, T exponent) {
  if constexpr (kDomain == Domain::plain) return exp_of_pair<A>(scaled_log<A>(x, exponent));
  const T y = exp_of_pair<A>(scaled_log<A>(absolute(x), exponent));
  const T half = T{0.5} * exponent;
  const bool whole = std::trunc(exponent) == exponent, even = std::trunc(half) == half;
  const T negative = !whole ? std::numeric_limits<T>::quiet_NaN() : even ? y : -y;
  return choose<T>(all_if(to_bits(x)), negative, y);
}

}  // namespace dvm::core::math
