// cbrt and hypot in f32 and f64, at most 1 ulp (tests/cpp/core/math_ulp_test.cpp).
#pragma once

#include "core/math/log.h"

namespace dvm::core::math {

// x**(-1/3) begins as the line -bits / 3, on the leading bits of x as a whole number, which is off
// by a tenth at most: with r the start and h = 1 - x * r**3, |h| <= 0.1022, it is r * (1 -
// h)**(-1/3).
template <Float T>
struct CbrtTable;
template <>
struct CbrtTable<float> {
  static constexpr int kDropped = 9;  // of the bits; a float holds the others
  static constexpr float kStart = 2773243;
  // ((1 - h)**(-1/3) - 1) / h: 2**-18.5
  static constexpr float kSeries[] = {0x1.555478p-2f, 0x1.c9afdap-3f, 0x1.6514e6p-3f};
  static constexpr float kThird = 0x1.555556p-2f;
  static constexpr float kTiny = 0x1p-98f, kHuge = 0x1p126f, kUp = 0x1p20f;
};
template <>
struct CbrtTable<double> {
  static constexpr int kDropped = 32;
  static constexpr double kStart = 1430186361;
  // 2**-32.3
  static constexpr double kSeries[] = {0x1.5555562b95985p-2, 0x1.c71c751376f3ap-3,
                                       0x1.61f49d2f4ca7cp-3, 0x1.26f41183db0fcp-3,
                                       0x1.037109839f16ap-3, 0x1.ce7c5d80e2ae6p-4};
  static constexpr double kThird = 0x1.5555555555555p-2;
  static constexpr double kTiny = 0x1p-910, kHuge = 0x1p1022, kUp = 0x1p60;
};

struct CbrtFlags {
  // So small that what the cube of a root is off may be subnormal, or so large that the cube may be
  // infinite.
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> special(T x) {
    using C = CbrtTable<T>;
    const Bits<T> bits = to_bits(absolute(x));
    return (bits - to_bits(C::kTiny)) | (to_bits(C::kHuge) - bits);
  }
};

// y - (y**3 - x) * slope, with the cube to twice the digits of y.
template <typename A, Float T>
DVM_ALWAYS_INLINE T nearer_root(T y, T x, T slope) {
  const T square = y * y;
  const T square_low = A::mul_add(y, y, -square);
  const T rest = A::mul_add(-square_low, y, A::mul_add(-square, y, x));
  return A::mul_add(rest, slope, y);
}

template <typename A, Float T>
DVM_ALWAYS_INLINE T cbrt_of_ordinary(T a) {
  using C = CbrtTable<T>;
  constexpr T kUlp1 = T(Bits<T>{1} << Format<T>::kFraction);
  // The sum has an ulp of 1, and its exponent drops out.
  const T leading = from_bits<T>(to_bits(kUlp1) | to_bits(a) >> C::kDropped);
  const T line = A::mul_add(leading, T{-1} / 3, C::kStart + kUlp1 + kUlp1 / 3);
  const T r = from_bits<T>(to_bits(line) << C::kDropped);
  const T h = A::mul_add(-(a * r), r * r, T{1});
  const T inverse = A::mul_add(r * h, polynomial<A>(h, C::kSeries), r);
  const T square = inverse * inverse;
  return nearer_root<A>(a * square, a, square * C::kThird);
}

// Others are scaled by the cube of a power of two.
template <typename A, Domain kDomain = Domain::all, Float T>
DVM_ALWAYS_INLINE T cbrt(T x) {
  using C = CbrtTable<T>;
  const T a = absolute(x);
  const Bits<T> sign = to_bits(x) & Format<T>::kSign;
  if constexpr (kDomain == Domain::plain) {
    return from_bits<T>(to_bits(cbrt_of_ordinary<A>(a)) | sign);
  }
  const bool tiny = a < C::kTiny;
  const bool huge = a > C::kHuge;
  const T scaled = a * (tiny ? C::kUp * C::kUp * C::kUp : huge ? T{0.125} : T{1});
  const T y = cbrt_of_ordinary<A>(scaled) * (tiny ? 1 / C::kUp : huge ? T{2} : T{1});
  const bool ordinary = to_bits(a) - 1 < Format<T>::kInfinity - 1;
  return from_bits<T>(to_bits(ordinary ? y : a) | sign);
}

template <Float T>
struct HypotTable;
template <>
struct HypotTable<float> {
  static constexpr float kHuge = 0x1p126f, kTiny = 0x1p-125f;
};
template <>
struct HypotTable<double> {
  static constexpr double kHuge = 0x1p510, kTiny = 0x1p-480;
};

// Where squares, or the result, overflow or are subnormal.
struct HypotFlags {
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> hard(T x, T y) {
    using C = HypotTable<T>;
    const Bits<T> a = to_bits(absolute(x)), b = to_bits(absolute(y));
    const Bits<T> either = a | b;  // of both, and 0 where both are
    const Bits<T> both_tiny = (a - to_bits(C::kTiny)) & (b - to_bits(C::kTiny)) & ~(either - 1);
    return (to_bits(C::kHuge) - a) | (to_bits(C::kHuge) - b) | both_tiny;
  }
  template <Float T>
  static T by_library(T x, T y) {
    return std::hypot(x, y);
  }
};

template <typename A>
DVM_ALWAYS_INLINE float hypot(float x, float y) {
  const double a = x, b = y;
  return static_cast<float>(std::sqrt(a * a + b * b));
}
template <typename A>
DVM_ALWAYS_INLINE double hypot(double x, double y) {
  return std::sqrt(A::mul_add(x, x, y * y));
}

}  // namespace dvm::core::math
