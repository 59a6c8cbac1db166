// Floats taken apart and put together: mantissa, exponent, fraction, the distance to a neighbour.
// Exact, branch-free where a compiler is to make SIMD of it, and quiet unless said otherwise.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "core/math_basis.h"

namespace dvm::core::math {

// x = mantissa * 2**exponent, 0.5 <= |mantissa| < 1. Zeros, infinities and NaN are their own
// mantissa, and their exponent is 0.
template <Float T>
struct Parts {
  T mantissa, exponent;
};

template <Float T>
DVM_ALWAYS_INLINE Parts<T> parts_of(T x) {
  using F = Format<T>;
  using Bits = typename F::Bits;
  constexpr T kBias = std::numeric_limits<T>::max_exponent - 2;  // of a mantissa below 1
  constexpr Bits kHalf = std::bit_cast<Bits>(T{0.5});
  // An integer below 2**kFraction is the low bits of itself added to that.
  constexpr T kWhole = T{Bits{1} << F::kFraction};
  const T size = std::fabs(x);
  const bool subnormal = size < std::numeric_limits<T>::min();
  const Bits bits = std::bit_cast<Bits>(subnormal ? x * kWhole : x);
  const bool ordinary = size != 0 && size < std::numeric_limits<T>::infinity();
  const Bits field = (bits & F::kInfinity) >> F::kFraction;
  const T biased = std::bit_cast<T>(std::bit_cast<Bits>(kWhole) | field) - kWhole;
  const T exponent = biased - (subnormal ? kBias + F::kFraction : kBias);
  return {ordinary ? std::bit_cast<T>((bits & ~F::kInfinity) | kHalf) : x,
          ordinary ? exponent : T{0}};
}
template <Float T>
DVM_ALWAYS_INLINE T frexp_mantissa(T x) {
  return parts_of(x).mantissa;
}
template <Float T>
DVM_ALWAYS_INLINE T frexp_exponent(T x) {
  return parts_of(x).exponent;
}

// What trunc leaves, of x's sign; of an infinity, zero.
template <Float T>
DVM_ALWAYS_INLINE T modf_fraction(T x) {
  const bool infinite = std::fabs(x) == std::numeric_limits<T>::infinity();
  return std::copysign(infinite ? T{0} : x - std::trunc(x), x);
}

// x * 2**exponent, rounded once. Raises overflow and underflow. The exponent is whole; one beyond
// the range of any format counts as the end of that range.
template <Float T>
T ldexp(T x, T exponent) {
  constexpr T kMost = 10000;
  return std::ldexp(x, static_cast<int>(std::fmin(std::fmax(exponent, -kMost), kMost)));
}

// To the next float away from zero, of x's sign (but of -0 upwards, as NumPy has it). Raises what
// taking that step does.
template <Float T>
T spacing(T x) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  if (std::fabs(x) == kInfinity) return std::numeric_limits<T>::quiet_NaN();
  return std::nextafter(x, std::isless(x, T{0}) ? -kInfinity : kInfinity) - x;
}

}  // namespace dvm::core::math
