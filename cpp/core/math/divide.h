// fmod, remainder and floor_divide of f32 and f64, exactly what the library and npy_divmod give:
// the quotient is whole and small enough to be known to the last bit.
#pragma once

#include <cmath>

#include "core/math/basis.h"

namespace dvm::core::math {

template <Float T>
struct QuotientTable;
template <>
struct QuotientTable<float> {
  static constexpr float kHuge = 0x1p22f;  // of the quotient
};
template <>
struct QuotientTable<double> {
  static constexpr double kHuge = 0x1p50;
};

// a less a multiple of b, of the sign of a. The quotient may be one too large where a / b rounds up
// to a whole number; what is left then shows it.
template <typename A, Float T>
DVM_ALWAYS_INLINE T rest_of(T a, T b) {
  const T quotient = std::trunc(a / b);
  const T rest = A::mul_add(-quotient, b, a);
  const bool across = (to_bits(rest) ^ to_bits(a)) >> (8 * sizeof(T) - 1) != 0 && rest != 0;
  const T back = rest + with_sign_of(b, a);
  return with_sign_of(across ? back : rest, a);
}

// The library's own, not what a compiler writes in its place: with -fno-math-errno GCC 14 takes x87
// instructions, and nobody reads the flags that these raise.
inline double library_fmod(double a, double b) {
  double (*volatile function)(double, double) = ::fmod;
  return function(a, b);
}
inline float library_fmod(float a, float b) {
  float (*volatile function)(float, float) = ::fmodf;
  return function(a, b);
}

// Quotients too large, by zero, of no finite numbers, or where they or products are subnormal.
struct FmodFlags {
  static constexpr bool kNeedsExact = true;
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> hard(T a, T b) {
    constexpr T kTiny = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
    return beyond_magnitude(QuotientTable<T>::kHuge, a / b) |
           (to_bits(absolute(b)) - to_bits(kTiny)) |
           beyond_magnitude(std::numeric_limits<T>::max(), a) |
           beyond_magnitude(std::numeric_limits<T>::max() / 4, b);
  }
  template <Float T>
  static T by_library(T a, T b) {
    return library_fmod(a, b);
  }
};

template <typename A, Float T>
DVM_ALWAYS_INLINE T fmod(T a, T b) {
  return rest_of<A>(a, b);
}

struct RemainderFlags : FmodFlags {
  template <Float T>
  static T by_library(T a, T b) {
    const T result = library_fmod(a, b);
    if (b == 0) return result;
    if (result == 0) return std::copysign(T{0}, b);
    return std::isless(b, T{0}) != std::isless(result, T{0}) ? result + b : result;
  }
};

// Takes the sign of b.
template <typename A, Float T>
DVM_ALWAYS_INLINE T remainder(T a, T b) {
  const T rest = rest_of<A>(a, b);
  const bool opposed = (to_bits(rest) ^ to_bits(b)) >> (8 * sizeof(T) - 1) != 0;
  return rest == 0 ? with_sign_of(T{0}, b) : opposed ? rest + b : rest;
}

struct FloorDivideFlags : FmodFlags {
  // As npy_divmod does it: a less the remainder is nearly a multiple of b, and the quotient is
  // snapped to the integer it then should be.
  template <Float T>
  static T by_library(T a, T b) {
    if (b == 0) return a / b;
    const T rest = library_fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && std::isless(b, T{0}) != std::isless(rest, T{0})) quotient -= 1;
    if (quotient == 0) return std::copysign(T{0}, a / b);
    const T floored = std::floor(quotient);
    return std::isgreater(quotient - floored, T{0.5}) ? floored + 1 : floored;
  }
};

template <typename A, Float T>
DVM_ALWAYS_INLINE T floor_divide(T a, T b) {
  const T rest = rest_of<A>(a, b);
  const bool opposed = (to_bits(rest) ^ to_bits(b)) >> (8 * sizeof(T) - 1) != 0 && rest != 0;
  const T exact = (a - rest) / b;
  const T quotient = opposed ? exact - 1 : exact;
  const T floored = std::floor(quotient);
  const T snapped = quotient - floored > T{0.5} ? floored + 1 : floored;
  return quotient == 0 ? with_sign_of(T{0}, a / b) : snapped;
}

}  // namespace dvm::core::math
