// arctan, arctan2, arcsin, arccos in f32 and f64, at most 2 ulp (tests/cpp/core/math_ulp_test.cpp).
// Each is a polynomial on an interval around zero, to which an identity brings the argument:
//   arctan a = pi / 2 - arctan(1 / a)            for a > 1
//   arcsin a = pi / 2 - 2 arcsin sqrt((1 - a) / 2)   for a > 1/2
#pragma once

#include <algorithm>

#include "core/math/basis.h"

namespace dvm::core::math {

template <Float T>
struct ArcTable;
template <>
struct ArcTable<float> {
  static constexpr float kHalfPi = 0x1.921fb6p0f, kHalfPiLow = -0x1.777a5cp-25f;
  // (arctan s - s) / s**3 over s**2 up to 1: 2**-28.5
  static constexpr float kArctan[] = {-0x1.55553ep-2f, 0x1.9991e4p-3f,  -0x1.242084p-3f,
                                      0x1.c08c1ap-4f,  -0x1.580814p-4f, 0x1.da24cap-5f,
                                      -0x1.fd6fbcp-6f, 0x1.6410e4p-7f,  -0x1.d32dacp-10f};
  // (arcsin s - s) / s**3 over s**2 up to 1/4: 2**-27.6
  static constexpr float kArcsin[] = {0x1.5555c8p-3f, 0x1.3301fcp-4f, 0x1.747d06p-5f,
                                      0x1.8c2d84p-6f, 0x1.596d62p-5f};
  static constexpr float kHuge = 0x1p62f, kTiny = 0x1p-62f;
};
template <>
struct ArcTable<double> {
  static constexpr double kHalfPi = 0x1.921fb54442d18p0, kHalfPiLow = 0x1.1a62633145c07p-54;
  // 2**-57.6 and 2**-55.9
  static constexpr double kArctan[] = {
      -0x1.5555555555526p-2, 0x1.99999999955b4p-3,  -0x1.249249237f57ep-3,  0x1.c71c717fcf8cbp-4,
      -0x1.745d11ae780dap-4, 0x1.3b13669a665f9p-4,  -0x1.110e51299a2a1p-4,  0x1.e1bba692cf505p-5,
      -0x1.ae5e738bfe339p-5, 0x1.82dadaac2b27ap-5,  -0x1.59a4080874b2cp-5,  0x1.2c2e7062ee44bp-5,
      -0x1.e9fa4fe05eec2p-6, 0x1.683d1f4469151p-6,  -0x1.c79075dbd3caap-7,  0x1.d7ba1ea36cbc1p-8,
      -0x1.7a3a9ff2aad01p-9, 0x1.b3fc4463dd5cfp-11, -0x1.3f3798a1bdc96p-13, 0x1.bbefb819a6388p-17};
  static constexpr double kArcsin[] = {
      0x1.555555555538ep-3, 0x1.333333336ebfbp-4, 0x1.6db6db424f7aep-5,  0x1.f1c72c47867b3p-6,
      0x1.6e89f2d28e49dp-6, 0x1.1c6bf819b0095p-6, 0x1.c6fbf5735eb74p-7,  0x1.8ecf3021d9a6bp-7,
      0x1.ab629d8e2574ap-8, 0x1.40412044424e1p-6, -0x1.0a4e33f65a941p-6, 0x1.059897254fab5p-5};
  static constexpr double kHuge = 0x1p510, kTiny = 0x1p-510;
};

// The angle of (big, small) = (1, s) or, if turned, of (s, 1).
template <typename A, Float T>
DVM_ALWAYS_INLINE T arctan_of(T small, T big, bool turned) {
  using C = ArcTable<T>;
  const T s = small / big, z = s * s;
  const T angle = A::mul_add(s * z, polynomial<A>(z, C::kArctan), s);
  return turned ? C::kHalfPi - (angle - C::kHalfPiLow) : angle;
}

template <typename A, Float T>
DVM_ALWAYS_INLINE T arctan(T x) {
  const T a = absolute(x);
  const bool turned = a > 1;
  return with_sign_of(arctan_of<A>(turned ? T{1} : a, turned ? a : T{1}, turned), x);
}

// Infinities by pairs, and where the quotient may be subnormal.
struct Arctan2Flags {
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> hard(T y, T x) {
    using C = ArcTable<T>;
    const auto outside = [](T a) {
      const Bits<T> bits = to_bits(absolute(a));
      // Zero is neither.
      return (to_bits(C::kHuge) - bits) | ((bits - to_bits(C::kTiny)) & ~(bits - 1));
    };
    return outside(y) | outside(x);
  }
  template <Float T>
  static T by_library(T y, T x) {
    return std::atan2(y, x);
  }
};

template <typename A, Float T>
DVM_ALWAYS_INLINE T arctan2(T y, T x) {
  using C = ArcTable<T>;
  const T a = absolute(y), b = absolute(x);
  // By extremes: of quotients by which is larger GCC makes both and chooses. Nothing but two zeros
  // is below kTiny.
  const T big = std::max(a, b);
  const T angle = arctan_of<A>(std::min(a, b), std::max(big, C::kTiny), b < big);
  const bool left = (to_bits(x) & Format<T>::kSign) != 0;
  return with_sign_of(left ? 2 * C::kHalfPi - (angle - 2 * C::kHalfPiLow) : angle, y);
}

struct UnitFlags {
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> hard(T x) {
    return between(Format<T>::kOne, absolute(x), Format<T>::kInfinity + 1);
  }
};
struct ArcsinFlags : UnitFlags {
  template <Float T>
  static T by_library(T x) {
    return std::asin(x);
  }
};
struct ArccosFlags : UnitFlags {
  template <Float T>
  static T by_library(T x) {
    return std::acos(x);
  }
};

// arcsin |x| is s + more, or, if large, pi / 2 - 2 (s + more).
template <Float T>
struct Arc {
  T s, more;
  Bits<T> large;  // all bits or none
};
template <typename A, Float T>
DVM_ALWAYS_INLINE Arc<T> arcsin_parts(T x) {
  const T a = absolute(x);
  // A mask and not a bool: GCC 12 would make a branch of it, and no SIMD.
  const Bits<T> large = all_if(beyond_magnitude(T{0.5}, a));
  const T z = choose<T>(large, A::mul_add(T{-0.5}, a, T{0.5}), a * a);
  const T s = choose<T>(large, std::sqrt(z), a);
  return {s, s * z * polynomial<A>(z, ArcTable<T>::kArcsin), large};
}

template <typename A, Float T>
DVM_ALWAYS_INLINE T arcsin(T x) {
  using C = ArcTable<T>;
  const Arc<T> arc = arcsin_parts<A>(x);
  const T high = C::kHalfPi - 2 * arc.s, lost = (C::kHalfPi - high) - 2 * arc.s;
  const T large = high - ((2 * arc.more - C::kHalfPiLow) - lost);
  return with_sign_of(choose<T>(arc.large, large, arc.s + arc.more), x);
}

// Of x = -1 ... -1/2 ... 1/2 ... 1 that is pi - 2 arcsin, pi / 2 - arcsin and 2 arcsin.
template <typename A, Float T>
DVM_ALWAYS_INLINE T arccos(T x) {
  using C = ArcTable<T>;
  const Arc<T> arc = arcsin_parts<A>(x);
  const Bits<T> left = all_if(to_bits(x));
  const T start = choose<T>(arc.large, choose<T>(left, T{2}, T{0}), T{1});  // times pi / 2
  const T times = with_sign_of(choose<T>(arc.large, T{2}, T{1}), from_bits<T>(~(arc.large ^ left)));
  return A::mul_add(start, C::kHalfPi, times * arc.s) +
         A::mul_add(times, arc.more, start * C::kHalfPiLow);
}

}  // namespace dvm::core::math
