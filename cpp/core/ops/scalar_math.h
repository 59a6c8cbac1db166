// What elementwise operations mean beyond C++'s own operators and libm: NumPy's rules for division,
// powers, shifts, signs and NaN. Over plain values: bool, integers, float and double.
//
// Nothing here traps or is undefined. Integer operations raise the status flags that NumPy's do,
// by hand; those of floats come from their arithmetic.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/math/basis.h"
#include "core/ops/fp_flags.h"

namespace dvm::core::math {

template <typename T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

// Integers wrap: computed in 64 unsigned bits, of which the low ones are kept.
template <Integer T>
constexpr uint64_t word(T x) {
  return static_cast<uint64_t>(x);
}
template <Integer T>
constexpr T wrap(uint64_t x) {
  return static_cast<T>(x);
}
template <Integer T>
constexpr bool negative(T x) {
  if constexpr (std::is_signed_v<T>) return x < 0;
  return false;
}
template <Integer T>
constexpr uint64_t magnitude(T x) {
  return negative(x) ? -word(x) : word(x);
}

// Of integers; core/math/divide.h and core/math/power.h have those of floats.
template <Integer T>
T fmod(T a, T b) {
  if (b == 0) raise(kDivideByZero);
  if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
  return static_cast<T>(a % b);
}

// Takes the sign of b.
template <Integer T>
T remainder(T a, T b) {
  const T result = math::fmod(a, b);
  return result != 0 && negative(a) != negative(b) ? static_cast<T>(result + b) : result;
}

template <Integer T>
T floor_divide(T a, T b) {
  if (b == 0) {
    raise(kDivideByZero);
    return 0;
  }
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
    if (a == std::numeric_limits<T>::min()) raise(kOverflow);
    return wrap<T>(-word(a));
  }
  const auto quotient = a / b;
  return static_cast<T>(quotient - (a % b != 0 && negative(a) != negative(b)));
}

// NumPy refuses negative exponents of integers with a ValueError: `invalid` stands for it.
template <Integer T>
T power(T a, T exponent) {
  if (negative(exponent)) {
    raise(kInvalid);
    return 0;
  }
  uint64_t result = 1, base = word(a);
  for (uint64_t rest = word(exponent); rest != 0; rest >>= 1, base *= base) {
    if (rest & 1) result *= base;
  }
  return wrap<T>(result);
}

// Of a divisor so far and a number: one division where it divides that, too, and none if it is 1.
// Narrow numbers divide faster.
template <Integer T>
using Divisor = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
template <std::unsigned_integral U>
U greatest_divisor(U a, U b) {
  while (a > 1) {
    const U rest = b % a;
    b = a;
    a = rest;
  }
  return a == 1 ? a : b;
}
template <Integer T>
T gcd(T a, T b) {
  using U = Divisor<T>;
  return wrap<T>(greatest_divisor(static_cast<U>(magnitude(a)), static_cast<U>(magnitude(b))));
}
template <Integer T>
T lcm(T a, T b) {
  const uint64_t divisor = word(gcd(a, b)) & std::numeric_limits<std::make_unsigned_t<T>>::max();
  return divisor == 0 ? T{0} : wrap<T>(magnitude(a) / divisor * magnitude(b));
}

template <Integer T>
T left_shift(T a, T by) {
  return word(by) < 8 * sizeof(T) ? wrap<T>(word(a) << word(by)) : T{0};
}
template <Integer T>
T right_shift(T a, T by) {
  constexpr uint64_t kLast = 8 * sizeof(T) - 1;
  return static_cast<T>(word(by) <= kLast ? a >> static_cast<int>(by)
                                          : (negative(a) ? a >> kLast : T{0}));
}

// Of the magnitude; sums of ever wider groups of bits, for no loop of popcount becomes SIMD.
template <Integer T>
DVM_ALWAYS_INLINE T bitwise_count(T x) {
  using U = std::make_unsigned_t<T>;
  constexpr int kWidth = 8 * sizeof(U);
  const auto pattern = [](unsigned divisor) {
    return static_cast<U>(static_cast<U>(-1) / divisor);
  };
  const U ones = static_cast<U>(negative(x) ? -word(x) : word(x));
  const U twos = static_cast<U>(ones - (ones >> 1 & pattern(3)));
  const U fours = static_cast<U>((twos & pattern(5)) + (twos >> 2 & pattern(5)));
  U count = static_cast<U>((fours + (fours >> 4)) & pattern(17));
  if constexpr (kWidth > 8) count = static_cast<U>(count + (count >> 8));
  if constexpr (kWidth > 16) count = static_cast<U>(count + (count >> 16));
  if constexpr (kWidth > 32) count = static_cast<U>(count + (count >> 32));
  return static_cast<T>(count & 0xff);
}

template <std::integral T>
T invert(T x) {
  if constexpr (std::same_as<T, bool>) {
    return !x;
  } else {
    return static_cast<T>(~x);
  }
}

template <typename T>
T sign(T x) {
  if constexpr (Float<T>) {
    return x > 0 ? T{1} : x < 0 ? T{-1} : x == 0 ? T{0} : x;
  } else {
    return static_cast<T>((x > 0) - negative(x));
  }
}

template <typename T>
T reciprocal(T x) {
  if constexpr (Float<T>) {
    return 1 / x;
  } else {
    if (x == 0) raise(kDivideByZero | kInvalid);
    return magnitude(x) == 1 ? x : T{0};
  }
}

template <typename T>
T square(T x) {
  if constexpr (Float<T>) {
    return x * x;
  } else {
    return wrap<T>(word(x) * word(x));
  }
}

// The first of two equals, as NumPy's: it matters for zeros.
template <typename T>
T fmax(T a, T b) {
  return a >= b || b != b ? a : b;
}
template <typename T>
T fmin(T a, T b) {
  return a <= b || b != b ? a : b;
}

template <Float T>
T heaviside(T x, T at_zero) {
  return x != x ? x : x == 0 ? at_zero : x < 0 ? T{0} : T{1};
}

template <Float T>
inline constexpr T kPi = static_cast<T>(3.141592653589793238462643383279502884L);
template <Float T>
T deg2rad(T x) {
  return x * (kPi<T> / T{180});
}
template <Float T>
T rad2deg(T x) {
  return x * (T{180} / kPi<T>);
}

// Integers and bool are whole and finite.
template <typename T>
T floor(T x) {
  if constexpr (Float<T>) return std::floor(x);
  return x;
}
template <typename T>
T ceil(T x) {
  if constexpr (Float<T>) return std::ceil(x);
  return x;
}
template <typename T>
T trunc(T x) {
  if constexpr (Float<T>) return std::trunc(x);
  return x;
}
template <typename T>
bool isnan(T x) {
  return x != x;
}
template <typename T>
bool isinf(T x) {
  if constexpr (Float<T>) return std::fabs(x) == std::numeric_limits<T>::infinity();
  return false;
}
template <typename T>
bool isfinite(T x) {
  if constexpr (Float<T>) return std::fabs(x) < std::numeric_limits<T>::infinity();
  return true;
}

}  // namespace dvm::core::math
