// cbrt and hypot in f32 and f64, at most 1 ulp (tests/cpp/core/math_ulp_test.cpp).
#pragma once

#include "core/math_log.h"

namespace dvm::core::math {

// Of m in [sqrt(1/2), sqrt(2)): its cube root and a third of that to the power -2, good enough for
// one step of Newton's method (f32: 2**-13.7 and 2**-10.3) or two (f64: 2**-19.6 and 2**-18.2).
template <Float T>
struct CbrtTable;
template <>
struct CbrtTable<float> {
  static constexpr float kRoot[] = {0x1.f85444p-2f, 0x1.7abc32p-1f, -0x1.295830p-2f,
                                    0x1.dced8ap-5f};
  static constexpr float kSlope[] = {0x1.d0291ep-1f, -0x1.125ba4p0f, 0x1.4b313ap-1f,
                                     -0x1.3053b2p-3f};
  static constexpr float kThird = 0x1.555556p-2f;
  static constexpr float kRoot2 = 0x1.428a30p0f, kRootHalf = 0x1.965feap-1f;
};
template <>
struct CbrtTable<double> {
  static constexpr double kRoot[] = {0x1.afcf383c496ebp-2,  0x1.0e572ca6953e3p0,
                                     -0x1.ac11923270509p-1, 0x1.059d1f1c93c86p-1,
                                     -0x1.6fba506dd677fp-3, 0x1.b99e170326c71p-6};
  static constexpr double kSlope[] = {
      0x1.54c978c46f108p0, -0x1.9602b63606985p1,  0x1.37c0e5233b236p2, -0x1.2629d3041e32ep2,
      0x1.4e0d46aa53eaep1, -0x1.a40d2f027fb62p-1, 0x1.c211b7867c23ap-4};
  static constexpr double kThird = 0x1.5555555555555p-2;
  static constexpr double kRoot2 = 0x1.428a2f98d728bp0, kRootHalf = 0x1.965fea53d6e3dp-1;
};

struct CbrtFlags {
  // Subnormal.
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> hard(T x) {
    return between(Bits<T>{0}, absolute(x), to_bits(std::numeric_limits<T>::min()));
  }
  template <Float T>
  static T by_library(T x) {
    return std::cbrt(x);
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

// x = 2**(3 n + k) * m with k of -1, 0, 1.
template <typename A, Float T>
DVM_ALWAYS_INLINE T cbrt(T x) {
  using C = CbrtTable<T>;
  constexpr T kRound = Format<T>::kRound;
  const T a = absolute(x);
  const Binary<T> b = split(a);
  const T t = A::mul_add(b.k, C::kThird, kRound);
  const T n = t - kRound, k = b.k - 3 * n;
  const T root = k == 0 ? T{1} : k > 0 ? C::kRoot2 : C::kRootHalf;
  // 2**(-2k/3)
  const T inverse = k == 0 ? T{1} : k > 0 ? C::kRootHalf * C::kRootHalf : C::kRoot2 * C::kRoot2;
  const T m = scale(b.m, k + kRound), slope = polynomial<A>(b.m, C::kSlope) * inverse;
  T y = polynomial<A>(b.m, C::kRoot) * root;
  if constexpr (std::same_as<T, double>) y = A::mul_add(A::mul_add(-y * y, y, m), slope, y);
  y = scale(nearer_root<A>(y, m, slope), t);
  const bool ordinary = to_bits(a) - 1 < Format<T>::kInfinity - 1;
  return with_sign_of(ordinary ? y : a, x);
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
