// sin, cos, tan in f32 and f64, at most 2 ulp, 2.5 in f64 (tests/cpp/core/math_ulp_test.cpp), for
// arguments up to kFar; beyond, where pi would need more digits, libm computes (`by_library`).
//   |x| = n * step + r with step pi, n whole (sin) or a half more (cos), or with step pi / 2 (tan).
//   sin r or tan r by a polynomial; n gives the sign, and for tan whether -1 / tan r is meant.
// The step is subtracted in parts. With a fused multiply-add the first part leaves no error,
// however many digits it has; without, f32 is reduced in f64, where products of n with short parts
// are exact.
#pragma once

#include "core/math/basis.h"

namespace dvm::core::math {

template <Float T>
struct TrigTable;
template <>
struct TrigTable<float> {
  static constexpr float kFar = 0x1p16f;
  static constexpr float kInversePi = 0x1.45f306p-2f;
  static constexpr float kPi[] = {0x1.921fb6p1f, -0x1.777a5cp-24f, -0x1.ee59dap-49f};
  // (sin r - r) / r**3 over r**2, minimax on |r| <= pi / 2 in its effect on sin r: 2**-27.0
  static constexpr float kSin[] = {-0x1.55554ap-3f, 0x1.110e86p-7f, -0x1.9f612cp-13f,
                                   0x1.5ce4f8p-19f};
  // (tan r - r) / r**3 over r**2, on |r| <= pi / 4: 2**-29.3
  static constexpr float kTan[] = {0x1.555562p-2f, 0x1.110d12p-3f,   0x1.baf310p-5f, 0x1.5bb60ep-6f,
                                   0x1.684d6ap-7f, -0x1.f2216cp-14f, 0x1.25b3e0p-8f};
};
template <>
struct TrigTable<double> {
  static constexpr double kFar = 0x1p20;
  static constexpr double kInversePi = 0x1.45f306dc9c883p-2;
  static constexpr double kPi[] = {0x1.921fb544p1, 0x1.0b4611a6p-33, 0x1.3198a2e037073p-68};
  // 2**-61.3 and 2**-55.4
  static constexpr double kSin[] = {
      -0x1.5555555555555p-3,  0x1.11111111110c5p-7,  -0x1.a01a01a014906p-13, 0x1.71de3a527a603p-19,
      -0x1.ae6454c02834ap-26, 0x1.6123c762f6e4ap-33, -0x1.ae41ef8a5b824p-41, 0x1.88057e6ad1953p-49};
  static constexpr double kTan[] = {
      0x1.55555555554cbp-2,   0x1.111111111ac1bp-3,  0x1.ba1ba1b283c8dp-5,   0x1.664f4a02cde17p-6,
      0x1.226e0882b398bp-7,   0x1.d6da932e781e3p-9,  0x1.7d4ad97fc62d9p-10,  0x1.3884374630d58p-11,
      0x1.cc25b9e4744adp-13,  0x1.2b0a856d43e11p-13, -0x1.24ba67b52eca2p-15, 0x1.97da56ab81c53p-14,
      -0x1.9b964b283b118p-15, 0x1.6edf41cf390e3p-16};
};

// W: the type in which the angle is reduced.
template <typename A, Float T>
using Wide = std::conditional_t<A::kExact, T, double>;

// |x| less n times the first two parts of the step, where `lost` is what the last rounding took, to
// its own last digits only where that is not tiny.
template <Float W>
struct Begun {
  W n, rest, lost;
  Bits<W> turns;  // n in its low bits
};
// step = pi * kPart. n is the whole number nearest x / step, plus kOffset less kOffset.
template <typename A, Float T>
DVM_ALWAYS_INLINE Begun<Wide<A, T>> begin_angle(T magnitude, Wide<A, T> part, Wide<A, T> offset) {
  using W = Wide<A, T>;
  using C = TrigTable<W>;
  constexpr W kRound = Format<W>::kRound;
  const W x = magnitude;
  // A sum with 0 would be computed.
  const W t = offset == 0 ? A::mul_add(x, C::kInversePi / part, kRound)
                          : A::mul_add(x, C::kInversePi / part, offset) + kRound;
  const W n = (t - kRound) - offset;
  const W first = A::mul_add(n, -C::kPi[0] * part, x);
  const W second = A::mul_add(n, -C::kPi[1] * part, first);
  return {n, second, A::mul_add(n, -C::kPi[1] * part, first - second), to_bits(t)};
}

// n * step + r + low + lost, of which `low` is less than an ulp of r unless r is tiny.
template <Float T>
struct Angle {
  T r, low, lost;
  Bits<T> n;  // its low bits count
};
template <typename A, Float T>
DVM_ALWAYS_INLINE Angle<T> reduce_angle(T magnitude, Wide<A, T> part, Wide<A, T> offset) {
  using W = Wide<A, T>;
  const Begun<W> begun = begin_angle<A, T>(magnitude, part, offset);
  const W last = -TrigTable<W>::kPi[2] * part;
  const W third = A::mul_add(begun.n, last, begun.rest);
  const T r = static_cast<T>(third);
  W low = A::mul_add(begun.n, last, begun.rest - third);
  if constexpr (!std::same_as<W, T>) low += third - r;
  return {r, static_cast<T>(low), static_cast<T>(begun.lost), static_cast<Bits<T>>(begun.turns)};
}

struct TrigFlags {
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> hard(T x) {
    return between(to_bits(TrigTable<T>::kFar), absolute(x), Format<T>::kInfinity + 1);
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
struct TanFlags : TrigFlags {
  template <Float T>
  static T by_library(T x) {
    return std::tan(x);
  }
};

// sin(r + n * pi), with `sign` flipping it.
template <typename A, Float T>
DVM_ALWAYS_INLINE T sin_of(Angle<T> angle, Bits<T> sign) {
  const T z = angle.r * angle.r;
  const T y = A::mul_add(angle.r * z, polynomial<A>(z, TrigTable<T>::kSin), angle.r);
  return from_bits<T>(to_bits(y) ^ (angle.n << (8 * sizeof(T) - 1)) ^ sign);
}

template <typename A, Float T>
DVM_ALWAYS_INLINE T sin(T x) {
  return sin_of<A>(reduce_angle<A, T>(absolute(x), 1, 0), to_bits(x) & Format<T>::kSign);
}

template <typename A, Float T>
DVM_ALWAYS_INLINE T cos(T x) {
  return sin_of<A>(reduce_angle<A, T>(absolute(x), 1, 0.5f), Bits<T>{0});
}

// Of f32 the last part of the step, times n, is so small that it is low itself.
template <typename A, Float T>
DVM_ALWAYS_INLINE Angle<T> tan_angle(T magnitude) {
  constexpr Wide<A, T> kPart = 0.5f;
  if constexpr (std::same_as<T, float> && A::kExact) {
    const Begun<T> begun = begin_angle<A, T>(magnitude, kPart, 0);
    return {begun.rest, begun.n * (-TrigTable<T>::kPi[2] * kPart), begun.lost, begun.turns};
  } else {
    return reduce_angle<A, T>(magnitude, kPart, 0);
  }
}

// tan r in two parts, so that the reciprocal of both is as good. What was lost of r counts the more
// the steeper tan is, twice at pi / 4; times r**2 takes enough of that away.
template <typename A, Float T>
DVM_ALWAYS_INLINE T tan(T x) {
  const Angle<T> angle = tan_angle<A>(absolute(x));
  const T r = angle.r, z = r * r;
  const T lost = A::mul_add(z, angle.lost, angle.low);
  const T more = A::mul_add(z * r, polynomial_in_halves<A>(z, TrigTable<T>::kTan), lost);
  const T high = r + more, low = (r - high) + more;
  const T inverse = -1 / high;
  const T error = A::mul_add(inverse, low, A::mul_add(inverse, high, T{1}));
  return flip_sign(angle.n & 1 ? A::mul_add(inverse, error, inverse) : high, x);
}

}  // namespace dvm::core::math
