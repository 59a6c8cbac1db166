// logaddexp and logaddexp2 in f32 and f64: the larger of a and b, and what the other adds, which is
// within 3 ulp of itself (tests/cpp/core/math_ulp_test.cpp).
#pragma once

#include "core/math/exp.h"
#include "core/math/log.h"

namespace dvm::core::math {

template <Float T>
struct SumOfPowersTable;
template <>
struct SumOfPowersTable<float> {
  static constexpr float kFar = 80;          // the other adds nothing
  static constexpr float kSmall = 0x1p-40f;  // unless the larger is itself as small
};
template <>
struct SumOfPowersTable<double> {
  static constexpr double kFar = 700;
  static constexpr double kSmall = 0x1p-900;
};

// NaN, +infinity, -infinity twice, and what needs more than kFar.
struct LogaddexpFlags {
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> hard(T a, T b) {
    using C = SumOfPowersTable<T>;
    const T high = a > b ? a : b, distance = a > b ? a - b : b - a;
    const Bits<T> far = beyond_magnitude(C::kFar, distance);
    const Bits<T> small = ~beyond_magnitude(C::kSmall, high);
    const Bits<T> no_number = (Format<T>::kInfinity - to_bits(absolute(a))) |
                              (Format<T>::kInfinity - to_bits(absolute(b)));
    return no_number | ((Format<T>::kInfinity - 1) - to_bits(absolute(high))) | (far & small);
  }
  template <Float T>
  static T by_library(T a, T b) {
    if (a == b) return a + ExpTable<T>::kLn2;  // infinities too
    const T distance = a - b;
    if (distance > 0) return a + std::log1p(std::exp(-distance));
    if (distance <= 0) return b + std::log1p(std::exp(distance));
    return distance;  // NaN
  }
};
struct Logaddexp2Flags : LogaddexpFlags {
  template <Float T>
  static T by_library(T a, T b) {
    if (a == b) return a + 1;
    const T distance = a - b;
    if (distance > 0) return a + ExpTable<T>::kLog2E * std::log1p(std::exp2(-distance));
    if (distance <= 0) return b + ExpTable<T>::kLog2E * std::log1p(std::exp2(distance));
    return distance;
  }
};

template <Float T>
struct Operands {
  T high, minus_distance;
};
template <Float T>
DVM_ALWAYS_INLINE Operands<T> in_order(T a, T b) {
  constexpr T kFar = SumOfPowersTable<T>::kFar;
  const T high = a > b ? a : b, low = a > b ? b : a;
  const T distance = high - low;
  return {high, distance > kFar ? -kFar : -distance};
}

template <typename A, Float T>
DVM_ALWAYS_INLINE T logaddexp(T a, T b) {
  const Operands<T> o = in_order(a, b);
  const T more = exp<A, Domain::plain>(o.minus_distance);
  return o.high + log1p<A, Domain::plain>(more);
}

template <typename A, Float T>
DVM_ALWAYS_INLINE T logaddexp2(T a, T b) {
  const Operands<T> o = in_order(a, b);
  const T more = exp2<A, Domain::plain>(o.minus_distance);
  const T sum = A::mul_add(log1p<A, Domain::plain>(more), ExpTable<T>::kLog2E, o.high);
  return more == 1 ? o.high + 1 : sum;
}

}  // namespace dvm::core::math
