// log, log2, log10, log1p in f32 and f64, at most 2 ulp (tests/cpp/core/math_ulp_test.cpp). All
// take take
//   x = 2**k * (1 + f), 1 + f in [sqrt(1/2), sqrt(2))
//   f32: log(1 + f) = f + f * f * (f * P(f) - 1/2)
//   f64: s = f / (2 + f), z = s * s;  log(1 + f) = f + (s * (f * f / 2 + z * P(z)) - f * f / 2),
//        which takes a division but half the terms
// of which nothing cancels, and differ in how k is added.
#pragma once

#include "core/math_exp.h"

namespace dvm::core::math {

template <Float T>
struct LogTable;
template <>
struct LogTable<float> {
  // (log(1 + f) - f + f**2 / 2) / f**3, minimax: 2**-27.4
  static constexpr float kQuotient[] = {0x1.555554p-2f,  -0x1.000228p-2f, 0x1.99a000p-3f,
                                        -0x1.54721cp-3f, 0x1.22dabcp-3f,  -0x1.0d87a2p-3f,
                                        0x1.0557e0p-3f,  -0x1.389ebep-4f};
  static constexpr uint32_t kHalfRoot = 0x3f3504f3u;  // sqrt(1/2)
  static constexpr float kNormal = 0x1p-126f, kUp = 0x1p25f, kUpDigits = 25;
  static constexpr float kWhole = 0x1p30f;  // 1 + x is x
  static constexpr float kLog2EHigh = 0x1.715476p0f, kLog2ELow = 0x1.4ae0c0p-26f;
  static constexpr float kLog10EHigh = 0x1.bcb7b2p-2f, kLog10ELow = -0x1.5b235ep-27f;
  // kLog10Of2High has zero bits for a product with k.
  static constexpr float kLog10Of2High = 0x1.344p-2f, kLog10Of2Low = 0x1.3509f8p-18f;
};
template <>
struct LogTable<double> {
  static constexpr double kSeries[] = {
      0x1.5555555555593p-1, 0x1.999999997fa04p-2, 0x1.2492494229359p-2, 0x1.c71c51d8e78afp-3,
      0x1.7466496cb03dep-3, 0x1.39a09d078c69fp-3, 0x1.2f112df3e5244p-3};
  static constexpr uint64_t kHalfRoot = 0x3fe6a09e667f3bcdu;
  static constexpr double kNormal = 0x1p-1022, kUp = 0x1p54, kUpDigits = 54;
  static constexpr double kWhole = 0x1p60;
  static constexpr double kLog2EHigh = 0x1.71547652b82fep0, kLog2ELow = 0x1.777d0ffda0d24p-56;
  static constexpr double kLog10EHigh = 0x1.bcb7b1526e50ep-2, kLog10ELow = 0x1.95355baaafad3p-57;
  static constexpr double kLog10Of2High = 0x1.34413509f6p-2, kLog10Of2Low = 0x1.9fef311f12b36p-42;
};

// x = 2**k * m of positive normal x. `exponent` is k + the bias, as an integer.
template <Float T>
struct Binary {
  T k, m;
  Bits<T> exponent;
};
template <Float T>
DVM_ALWAYS_INLINE Binary<T> split(T x) {
  using F = Format<T>;
  constexpr Bits<T> kHalfRoot = LogTable<T>::kHalfRoot;
  constexpr Bits<T> kFraction = (Bits<T>{1} << F::kFraction) - 1;
  const Bits<T> shifted = to_bits(x) + (F::kOne - kHalfRoot);
  const Bits<T> exponent = shifted >> F::kFraction;
  // As the low bits of a number whose ulp is 1, since not every level converts 64-bit integers.
  constexpr T kUlp1 = T(Bits<T>{1} << F::kFraction), kBias = T(F::kOne >> F::kFraction);
  const T k = from_bits<T>(to_bits(kUlp1) | exponent) - (kUlp1 + kBias);
  return {k, from_bits<T>((shifted & kFraction) + kHalfRoot), exponent};
}

template <typename A, Float T>
DVM_ALWAYS_INLINE T log_of_one_plus(T f) {
  if constexpr (std::same_as<T, float>) {
    return A::mul_add(f * f, A::mul_add(f, polynomial<A>(f, LogTable<T>::kQuotient), -0.5f), f);
  } else {
    const T s = f / (2 + f), z = s * s, half_square = T{0.5} * f * f;
    const T rest = z * polynomial<A>(z, LogTable<T>::kSeries);
    return f + A::mul_add(s, half_square + rest, -half_square);
  }
}

// k and log(m).
template <Float T>
struct LogParts {
  T k, log;
};
template <typename A, Domain kDomain, Float T>
DVM_ALWAYS_INLINE LogParts<T> log_parts(T x) {
  using C = LogTable<T>;
  if constexpr (kDomain == Domain::plain) {
    const Binary<T> b = split(x);
    return {b.k, log_of_one_plus<A>(b.m - 1)};
  }
  const bool small = x < C::kNormal;
  const Binary<T> b = split(small ? x * C::kUp : x);
  return {small ? b.k - C::kUpDigits : b.k, log_of_one_plus<A>(b.m - 1)};
}

// What a logarithm gives where y does not hold: at 0, below, at infinity and of NaN; x is shifted
// so that the pole is at 0.
template <Domain kDomain, Float T>
DVM_ALWAYS_INLINE T beyond(T x, T y) {
  if constexpr (kDomain == Domain::plain) return y;
  using L = std::numeric_limits<T>;
  const T outside = x == 0 ? -L::infinity() : x < 0 ? L::quiet_NaN() : x;
  return ((x > 0) & (x < L::infinity())) ? y : outside;
}

struct LogFlags {
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> special(T x) {
    return not_positive_normal(x);
  }
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> divide_by_zero(T x) {
    return (to_bits(x) & ~Format<T>::kSign) - 1;
  }
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> invalid(T x) {
    return between(Bits<T>{0}, -x, Format<T>::kInfinity + 1);
  }
};

template <typename A, Domain kDomain = Domain::all, Float T>
DVM_ALWAYS_INLINE T log(T x) {
  using C = ExpTable<T>;
  const LogParts<T> p = log_parts<A, kDomain>(x);
  return beyond<kDomain>(x, A::mul_add(p.k, C::kLn2High, A::mul_add(p.k, C::kLn2Low, p.log)));
}

template <typename A, Domain kDomain = Domain::all, Float T>
DVM_ALWAYS_INLINE T log2(T x) {
  using C = LogTable<T>;
  const LogParts<T> p = log_parts<A, kDomain>(x);
  return beyond<kDomain>(x, A::mul_add(p.log, C::kLog2EHigh, A::mul_add(p.log, C::kLog2ELow, p.k)));
}

template <typename A, Domain kDomain = Domain::all, Float T>
DVM_ALWAYS_INLINE T log10(T x) {
  using C = LogTable<T>;
  const LogParts<T> p = log_parts<A, kDomain>(x);
  const T low = A::mul_add(p.k, C::kLog10Of2Low, p.log * C::kLog10ELow);
  return beyond<kDomain>(x,
                         A::mul_add(p.k, C::kLog10Of2High, A::mul_add(p.log, C::kLog10EHigh, low)));
}

struct Log1pFlags {
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> special(T x) {
    const Bits<T> up_to_minus_one = to_bits(x) & ~(to_bits(absolute(x)) - Format<T>::kOne);
    return beyond_magnitude(LogTable<T>::kWhole, x) | up_to_minus_one;
  }
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> divide_by_zero(T x) {
    const Bits<T> difference = to_bits(x) ^ to_bits(T{-1});
    return (difference - 1) & ~difference;
  }
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> invalid(T x) {
    return between(Format<T>::kOne, -x, Format<T>::kInfinity + 1);
  }
};

// Of 1 + x = u + lost, both exact: f takes back what the sum lost.
template <typename A, Domain kDomain = Domain::all, Float T>
DVM_ALWAYS_INLINE T log1p(T x) {
  using C = ExpTable<T>;
  const T u = 1 + x;
  const T part = u - x;
  const T lost = (1 - part) + (x - (u - part));
  const Binary<T> b = split(u);
  constexpr Bits<T> kTwiceBias = (Format<T>::kOne >> Format<T>::kFraction) * 2;
  const T down = from_bits<T>((kTwiceBias - b.exponent) << Format<T>::kFraction);  // 2**-k
  const T f =
      (b.m - 1) + (kDomain == Domain::plain || x < LogTable<T>::kWhole ? lost * down : T{0});
  const T log = log_of_one_plus<A>(f);
  const T y = A::mul_add(b.k, C::kLn2High, A::mul_add(b.k, C::kLn2Low, log));
  // The sign of x, which x itself has where y is tiny, and -0.
  return beyond<kDomain>(u, with_sign_of(y, x));
}

}  // namespace dvm::core::math
