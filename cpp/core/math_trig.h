// sin and cos in f32 and f64, at most 2 ulp (tests/cpp/core/math_ulp_test.cpp), for arguments below
// 2**20; beyond, where pi would need more digits, libm computes (`by_library`).
//   n = the integer nearest |x| * 2 / pi;  r = |x| - n * pi / 2, with pi / 2 in parts so short that
//   products with n are exact;  sin r or cos r by polynomials, by the quadrant n
#pragma once

#include "core/math_basis.h"

namespace dvm::core::math {

// An f32 argument is reduced in f64, where two parts of pi / 2 do.
struct HalfPi {
  static constexpr double kInverse = 0x1.45f306dc9c883p-1;
  static constexpr double kHigh = 0x1.921fb544p0, kMiddle = 0x1.0b4611a6p-34,
                          kLow = 0x1.3198a2e037073p-69;
};
template <Float T>
struct TrigTable;
template <>
struct TrigTable<float> {
  // (sin r - r) / r**3 and (cos r - 1 + r**2 / 2) / r**4 over r**2, minimax on |r| <= pi / 4.
  static constexpr float kSin[] = {-0x1.555556p-3f, 0x1.111108p-7f, -0x1.a00f94p-13f,
                                   0x1.6cd5f0p-19f};
  static constexpr float kCos[] = {0x1.55554ap-5f, -0x1.6c0c82p-10f, 0x1.99ff42p-16f};
};
template <>
struct TrigTable<double> {
  static constexpr double kSin[] = {-0x1.5555555555549p-3,  0x1.111111110f842p-7,
                                    -0x1.a01a019c0a36ap-13, 0x1.71de357104f6ap-19,
                                    -0x1.ae5e60c7f6ef6p-26, 0x1.5d915e7de0a8bp-33};
  static constexpr double kCos[] = {0x1.555555555554cp-5,  -0x1.6c16c16c15141p-10,
                                    0x1.a01a019cab7edp-16, -0x1.27e4f8053a159p-22,
                                    0x1.1ee9e8942de12p-29, -0x1.8facd2b95f149p-37};
};

template <Float T>
struct Quadrant {
  T r;
  Bits<T> n;  // its two low bits count
};

template <typename A, Float T>
DVM_ALWAYS_INLINE Quadrant<T> reduce_angle(T magnitude) {
  constexpr double kRound = Format<double>::kRound;
  const double x = magnitude;
  const double t = A::mul_add(x, HalfPi::kInverse, kRound);
  const double n = t - kRound;
  double r = A::mul_add(n, -HalfPi::kHigh, x);
  r = A::mul_add(n, -HalfPi::kMiddle, r);
  if constexpr (std::same_as<T, double>) r = A::mul_add(n, -HalfPi::kLow, r);
  return {static_cast<T>(r), static_cast<Bits<T>>(to_bits(t))};
}

// sin(r + n * pi / 2), with `sign` flipping it.
template <typename A, Float T>
DVM_ALWAYS_INLINE T sin_of(T r, Bits<T> n, Bits<T> sign) {
  using C = TrigTable<T>;
  const T z = r * r;
  const T sine = A::mul_add(r * z, polynomial<A>(z, C::kSin), r);
  const T half = T{0.5} * z, most = 1 - half;
  const T cosine = most + A::mul_add(z * z, polynomial<A>(z, C::kCos), (1 - most) - half);
  const T y = n & 1 ? cosine : sine;
  return from_bits<T>(to_bits(y) ^ ((n & 2) << (8 * sizeof(T) - 2)) ^ sign);
}

struct TrigFlags {
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> hard(T x) {
    return to_bits(T(0x1p20)) - 1 - (to_bits(x) & ~Format<T>::kSign);
  }
};
struct SinFlags : TrigFlags {
  template <Float T>
  static T by_library(T x) {
    return std::sin(x);
  }
};
struct CosFlags : TrigFlags {
  template <Float T>
  static T by_library(T x) {
    return std::cos(x);
  }
};

template <typename A, Float T>
DVM_ALWAYS_INLINE T sin(T x) {
  const Quadrant<T> q = reduce_angle<A>(absolute(x));
  return sin_of<A>(q.r, q.n, to_bits(x) & Format<T>::kSign);
}

template <typename A, Float T>
DVM_ALWAYS_INLINE T cos(T x) {
  const Quadrant<T> q = reduce_angle<A>(absolute(x));
  return sin_of<A>(q.r, q.n + 1, Bits<T>{0});
}

}  // namespace dvm::core::math
