// log, log2, log10, log1p in f32 and f64, at most 2 ulp (tests/cpp/core/math_ulp_test.cpp). All
// take
//   x = 2**k * (1 + f), 1 + f in [sqrt(1/2), sqrt(2))
//   f32: log(1 + f) = f + f * f * (f * P(f) - 1/2);  log2(1 + f), log10(1 + f) = f * P(f)
//   f64: s = f / (2 + f), z = s * s;  log(1 + f) = f + (s * (f * f / 2 + z * P(z)) - f * f / 2),
//        which takes a division but half the terms
// of which nothing cancels, and differ in how k is added.
#pragma once

#include "core/math/exp.h"

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
  // log2(1 + f) / f, minimax with more weight on both ends, where rounding is felt most: 2**-24.4
  static constexpr float kLog2[] = {0x1.715476p0f,   -0x1.715472p-1f, 0x1.ec73bap-2f,
                                    -0x1.715b32p-2f, 0x1.26d186p-2f,  -0x1.e98a78p-3f,
                                    0x1.ba40e0p-3f,  -0x1.a7711ap-3f, 0x1.fe0074p-4f};
  // log10(1 + f) / f, minimax: 2**-24.4
  static constexpr float kLog10[] = {0x1.bcb7b0p-2f,  -0x1.bcb7b0p-3f, 0x1.287d42p-3f,
                                     -0x1.bcbeaep-4f, 0x1.62cf80p-4f,  -0x1.26ba1ep-4f,
                                     0x1.0bcf3cp-4f,  -0x1.fefbcep-5f, 0x1.2cd3e0p-5f};
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
  // log2(e) and log10(e) in two parts.
  static constexpr double kLog2[] = {0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56};
  static constexpr double kLog10[] = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
  static constexpr double kLog10Of2High = 0x1.34413509f6p-2, kLog10Of2Low = 0x1.9fef311f12b36p-42;
};

// x = 2**k * m of positive normal x. k is counted in parts of 1 / kUnit: f32 takes the bits of its
// place in x as an integer, and what k is multiplied with is divided by kUnit beforehand, exactly.
template <Float T>
struct Binary {
  static constexpr T kUnit = std::same_as<T, float> ? T(0x1p23) : T{1};
  T k, m;
  Bits<T> up;  // added to the bits of a number, multiplies it by 2**k
};
template <Float T>
DVM_ALWAYS_INLINE Binary<T> split(T x) {
  using F = Format<T>;
  constexpr Bits<T> kHalfRoot = LogTable<T>::kHalfRoot;
  constexpr Bits<T> kFraction = (Bits<T>{1} << F::kFraction) - 1;
  if constexpr (std::same_as<T, float>) {
    const Bits<T> up = (to_bits(x) - kHalfRoot) & ~kFraction;
    return {static_cast<float>(static_cast<int32_t>(up)), from_bits<T>(to_bits(x) - up), up};
  } else {
    const Bits<T> shifted = to_bits(x) + (F::kOne - kHalfRoot);
    // As the low bits of a number whose ulp is 1, since not every level converts 64-bit integers.
    constexpr T kUlp1 = T(Bits<T>{1} << F::kFraction), kBias = T(F::kOne >> F::kFraction);
    const T k = from_bits<T>(to_bits(kUlp1) | (shifted >> F::kFraction)) - (kUlp1 + kBias);
    const Bits<T> up = (shifted & ~kFraction) - F::kOne;
    return {k, from_bits<T>((shifted & kFraction) + kHalfRoot), up};
  }
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

// k, counted as in Binary, and f.
template <Float T>
struct LogParts {
  T k, f;
};
template <Domain kDomain, Float T>
DVM_ALWAYS_INLINE LogParts<T> log_parts(T x) {
  using C = LogTable<T>;
  if constexpr (kDomain == Domain::plain) {
    const Binary<T> b = split(x);
    return {b.k, b.m - 1};
  }
  const bool small = x < C::kNormal;
  const Binary<T> b = split(small ? x * C::kUp : x);
  return {small ? b.k - C::kUpDigits * Binary<T>::kUnit : b.k, b.m - 1};
}

// log(2**k * (1 + f))
template <typename A, Float T>
DVM_ALWAYS_INLINE T log_of_parts(T k, T f) {
  using C = ExpTable<T>;
  constexpr T kUnit = Binary<T>::kUnit;
  const T low = A::mul_add(k, C::kLn2Low / kUnit, log_of_one_plus<A>(f));
  return A::mul_add(k, C::kLn2High / kUnit, low);
}

// 2**-k, unless k is the largest there is.
template <Float T>
DVM_ALWAYS_INLINE T scale_down(Binary<T> b) {
  return from_bits<T>(Format<T>::kOne - b.up);
}

// The logarithm of high + low, of which `low` is so small that their sum is no other power of 2.
template <typename A, Float T>
DVM_ALWAYS_INLINE T log_of_sum(T high, T low) {
  const Binary<T> b = split(high);
  return log_of_parts<A>(b.k, A::mul_add(low, scale_down(b), b.m - 1));
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
  const LogParts<T> p = log_parts<kDomain>(x);
  return beyond<kDomain>(x, log_of_parts<A>(p.k, p.f));
}

template <typename A, Domain kDomain = Domain::all, Float T>
DVM_ALWAYS_INLINE T log2(T x) {
  using C = LogTable<T>;
  const LogParts<T> p = log_parts<kDomain>(x);
  if constexpr (std::same_as<T, float>) {
    const T k = p.k * (1 / Binary<T>::kUnit);
    return beyond<kDomain>(x, A::mul_add(polynomial<A>(p.f, C::kLog2), p.f, k));
  } else {
    const T log = log_of_one_plus<A>(p.f);
    return beyond<kDomain>(x, A::mul_add(log, C::kLog2[0], A::mul_add(log, C::kLog2[1], p.k)));
  }
}

template <typename A, Domain kDomain = Domain::all, Float T>
DVM_ALWAYS_INLINE T log10(T x) {
  using C = LogTable<T>;
  const LogParts<T> p = log_parts<kDomain>(x);
  constexpr T kHigh = C::kLog10Of2High / Binary<T>::kUnit,
              kLow = C::kLog10Of2Low / Binary<T>::kUnit;
  T rest;
  if constexpr (std::same_as<T, float>) {
    rest = A::mul_add(polynomial<A>(p.f, C::kLog10), p.f, p.k * kLow);
  } else {
    const T log = log_of_one_plus<A>(p.f);
    rest = A::mul_add(log, C::kLog10[0], A::mul_add(p.k, kLow, log * C::kLog10[1]));
  }
  return beyond<kDomain>(x, A::mul_add(p.k, kHigh, rest));
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
  const T u = 1 + x;
  const T part = u - x;
  const T lost = (1 - part) + (x - (u - part));
  const Binary<T> b = split(u);
  const T rest = lost * scale_down(b);
  const bool felt = kDomain == Domain::plain || x < LogTable<T>::kWhole;
  const T y = log_of_parts<A>(b.k, (b.m - 1) + (felt ? rest : T{0}));
  // The sign of x, which x itself has where y is tiny, and -0.
  return beyond<kDomain>(u, with_sign_of(y, x));
}

}  // namespace dvm::core::math
