// What instructions mean, written down a second time, as plainly as NumPy's manual: floats in long
// double or double, integers in 128 bits, halves by scaling. Nothing here calls dvm's arithmetic.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "core/ops/dtype.h"

namespace dvm::testing {

using core::DType;
using core::Half;
using core::Storage;

// The exponents of the least and of the greatest normal number, and the bits of a fraction.
template <typename H>
struct HalfRange {
  static constexpr int kLeast = H::kFractionBits == 10 ? -14 : -126, kMost = 1 - kLeast;
  static constexpr int kFraction = H::kFractionBits == 10 ? 10 : 7;
};

template <core::AnyHalf H>
double decode_half(H half) {
  using R = HalfRange<H>;
  const int one = 1 << R::kFraction;
  const int exponent = (half.bits & 0x7fff) / one, fraction = half.bits % one;
  const double sign = half.bits & 0x8000 ? -1 : 1;
  if (exponent == 2 * R::kMost + 1) return fraction ? NAN : sign * INFINITY;
  const int scale = R::kLeast - R::kFraction;
  return sign * (exponent == 0 ? std::ldexp(fraction, scale)
                               : std::ldexp(one + fraction, scale + exponent - 1));
}

template <core::AnyHalf H>
H encode_half(double x) {
  using R = HalfRange<H>;
  const int one = 1 << R::kFraction, infinity = (2 * R::kMost + 1) * one;
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x)) return {static_cast<uint16_t>(sign | (infinity + one / 2))};
  const double magnitude = std::fabs(x);
  int exponent = std::ilogb(magnitude);
  if (magnitude == 0 || exponent < R::kLeast) exponent = R::kLeast;
  if (std::isinf(x) || exponent > R::kMost) return {static_cast<uint16_t>(sign | infinity)};
  // nearbyint rounds to nearest even; a whole more means the next power of two, whose bits follow.
  const auto steps =
      static_cast<int>(std::nearbyint(std::ldexp(magnitude, R::kFraction - exponent)));
  return {static_cast<uint16_t>(sign | ((exponent - R::kLeast) * one + steps))};
}

// Storage to a number wide enough for it, and back with one rounding (floats) or modulo (integers).
template <typename T>
auto widen(T x) {
  if constexpr (core::AnyHalf<T>) {
    return decode_half(x);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(x);
  } else {
    __extension__ using Wide = __int128;
    return static_cast<Wide>(x);
  }
}
template <typename T, typename W>
T narrow(W x) {
  if constexpr (core::AnyHalf<T>) {
    return encode_half<T>(static_cast<double>(x));
  } else {
    return static_cast<T>(x);
  }
}

template <typename T>
bool is_nan(T x) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    return std::isnan(widen(x));
  }
}

template <typename T>
uint64_t bits_of(T x) {
  uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof(x));
  return bits;
}

// Equal bits, except that one NaN is as good as another: NumPy promises no payload either.
template <typename T>
bool same(T x, T y) {
  if (is_nan(x) || is_nan(y)) return is_nan(x) && is_nan(y);
  return bits_of(x) == bits_of(y);
}

// Every value an implementation could trip over, then random ones.
template <typename T>
std::vector<T> interesting(std::mt19937_64& random) {
  std::vector<T> values;
  if constexpr (std::is_same_v<T, uint8_t>) {
    values = {0, 1, 1, 0, 1};
  } else if constexpr (std::is_integral_v<T>) {
    using L = std::numeric_limits<T>;
    values = {0, 1, T(-1), 2, T(-7), L::min(), L::max(), T(L::min() + 1), T(L::max() - 1)};
    for (int64_t x : {65504, 65519, 65520, 16777217, -16777217, 2049, 4098, 70000, -70000})
      values.push_back(static_cast<T>(x));
    for (int i = 0; i < 12; ++i) values.push_back(static_cast<T>(random() >> (random() % 64)));
  } else {
    const double inf = INFINITY;
    for (double x : {0.0,
                     -0.0,
                     1.0,
                     -1.0,
                     0.5,
                     1.5,
                     2.5,
                     -3.7,
                     3.7,
                     double{NAN},
                     inf,
                     -inf,
                     6e-8,
                     -6e-8,
                     2.9e-8,
                     3.1e-5,
                     6.1e-5,
                     1e-45,
                     -1e-40,
                     1.17e-38,
                     4.9e-324,
                     2.3e-308,
                     65504.0,
                     65519.0,
                     65520.0,
                     -65536.0,
                     2147483520.0,
                     2147483647.0,
                     2147483648.0,
                     -2147483648.0,
                     -2147483904.0,
                     9.2233715e18,
                     9.223372036854775807e18,
                     -9.223372036854775808e18,
                     -9.3e18,
                     1e30,
                     -1e30,
                     3.4e38,
                     1.7e308,
                     1.0009765625,
                     1.00048828125}) {
      values.push_back(narrow<T>(x));
    }
    std::normal_distribution<double> normal(0, 8);
    for (int i = 0; i < 12; ++i) values.push_back(narrow<T>(normal(random)));
  }
  return values;
}

}  // namespace dvm::testing
