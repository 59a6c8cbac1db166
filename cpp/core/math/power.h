// power in f32 and f64, at most 1.9 ulp (tests/cpp/core/math_ulp_test.cpp): 2**(b log2 a) with the
// logarithm in two parts. That takes a fused multiply-add; levels without one run the meaning of
// scalar_ops.h. A negative base gives the sign by which whole exponent it has. Zeros, infinities,
// NaN and what may overflow or be subnormal are the library's.
#pragma once

#include "core/math/log.h"

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
  // 2 / log 2, a third of it, and it times ((arctanh(s) / s - 1) / z - 1 / 3) / z: 2**-73.5
  static constexpr double kScale = 0x1.71547652b82fep1, kScaleLow = 0x1.777d0ffda0d24p-55;
  static constexpr double kThird = 0x1.ec709dc3a03fdp-1, kThirdLow = 0x1.d27f05548af0cp-55;
  static constexpr double kArctanh[] = {
      0x1.2776c50ef9bfcp-1, 0x1.a61762a7aee5ap-2, 0x1.484b13d6a6ea4p-2, 0x1.0c9a853d61b70p-2,
      0x1.c68ee841c5b06p-3, 0x1.8a09dd92add25p-3, 0x1.58fa2162b10eap-3, 0x1.6204e2fad1ff8p-3};
  // 2**-55.4
  static constexpr double kExp2[] = {1,
                                     0x1.62e42fefa39efp-1,
                                     0x1.ebfbdff82c598p-3,
                                     0x1.c6b08d704a0c2p-5,
                                     0x1.3b2ab6fba1ddap-7,
                                     0x1.5d87fe78a5276p-10,
                                     0x1.430913096fd9fp-13,
                                     0x1.ffcbfc670dcd4p-17,
                                     0x1.62bfd47773353p-20,
                                     0x1.b524fae627834p-24,
                                     0x1.e6063f7217bc6p-28,
                                     0x1.e9d3fe3952179p-32};
  static constexpr double kFar = 1020;  // the power is finite and normal
};

// high + low, where `low` may have more than the digits below `high`.
template <Float T>
struct Pair {
  T high, low;
};

// s + s_low = (m - 1) / (m + 1), of which log2 m is 2 / log 2 times the arctanh.
template <Float T>
struct Ratio {
  T s, s_low;
};
template <typename A, Float T>
DVM_ALWAYS_INLINE Ratio<T> ratio_of(T m) {
  const T f = m - 1, d = f + 2, d_low = f - (d - 2);
  const T s = f / d, inverse = A::mul_add(s, T{-0.5}, T{0.5});  // of d
  return {s, inverse * A::mul_add(-s, d_low, A::mul_add(-s, d, f))};
}

// The logarithm to base 2 of a positive normal number, to some 64 digits:
//   k + kScale * (s + s_low * (1 + z)) + kThird * s**3 + s**5 * P(z) with z = s**2
// s**3 is in two parts; what does not wait for P stands before it.
template <typename A>
DVM_ALWAYS_INLINE Pair<double> log_pair(double x) {
  using C = PowerTable<double>;
  const Binary<double> b = split(x);
  const auto [s, s_low] = ratio_of<A>(b.m);
  const double z = s * s, z_low = A::mul_add(s, s, -z);
  const double cube = s * z, cube_low = A::mul_add(s, z_low, A::mul_add(s, z, -cube));
  const double third = cube * C::kThird, third_low = A::mul_add(cube, C::kThird, -third);
  const double scaled = A::mul_add(s, C::kScale, b.k);
  const double lost = A::mul_add(s, C::kScaleLow, A::mul_add(s, C::kScale, b.k - scaled));
  const double below = A::mul_add(s_low, A::mul_add(z, C::kScale, C::kScale), lost) +
                       A::mul_add(cube_low, C::kThird, third_low);
  const double high = scaled + third, rest = (scaled - high) + third;
  const double tail = A::mul_add(z, polynomial<A>(z, C::kArctanh), C::kThirdLow);
  return {high, rest + A::mul_add(cube, tail, below)};
}

// The same to some 31 digits:
//   k + kScale * (s + s_low) + s**3 * P(s**2)
template <typename A>
DVM_ALWAYS_INLINE Pair<float> log_pair(float x) {
  using C = PowerTable<float>;
  const Binary<float> b = split(x);
  const float k = b.k * (1 / Binary<float>::kUnit);
  const auto [s, s_low] = ratio_of<A>(b.m);
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
template <typename A, Float T>
DVM_ALWAYS_INLINE T exp_of_pair(Pair<T> y) {
  constexpr T kRound = Format<T>::kRound;
  const T t = (y.high + y.low) + kRound;
  const T r = (y.high - (t - kRound)) + y.low;
  return scale(polynomial<A>(r, PowerTable<T>::kExp2), t);
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
