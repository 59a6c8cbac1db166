// Floats taken apart and put together: mantissa, exponent, fraction, the distance to a neighbour.
// Exact, branch-free where a compiler is to make SIMD of it, and quiet unless said otherwise.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "core/math/basis.h"

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
  using Bits = math::Bits<T>;
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

// 2**n of a whole n for which it is a normal number.
template <Float T>
DVM_ALWAYS_INLINE T power_of_two(T n) {
  return from_bits<T>(Format<T>::kOne + (to_bits(n + Format<T>::kRound) << Format<T>::kFraction));
}

// x * 2**exponent, rounded once. Raises overflow and underflow. The exponent is whole; one beyond
// the range of any format counts as the end of that range.
//
// Three normal powers reach from one end of the range to the other. Before the last product all are
// exact, unless the last power is the least or the largest, and then what was rounded is 0 or
// infinite in the end.
template <Float T>
struct PowersOfTwo {
  T first, second, last;
};
template <Float T>
DVM_ALWAYS_INLINE PowersOfTwo<T> powers_of_two(T exponent) {
  using L = std::numeric_limits<T>;
  constexpr T kHighest = L::max_exponent - 1, kLowest = L::min_exponent - 1;
  const auto within = [](T n, T bound) {
    const T low = n > bound * kLowest ? n : bound * kLowest;
    return low < bound * kHighest ? low : bound * kHighest;
  };
  const T all = within(exponent, 3), last = within(all, 1);
  const T rest = all - last, second = within(rest, 1);
  return {power_of_two(rest - second), power_of_two(second), power_of_two(last)};
}
template <Float T>
DVM_ALWAYS_INLINE T ldexp(T x, T exponent) {
  const PowersOfTwo<T> powers = powers_of_two(exponent);
  return x * powers.first * powers.second * powers.last;
}
// Whether the exponent takes more than the last of them.
template <Float T>
DVM_ALWAYS_INLINE Bits<T> takes_more_powers(T exponent) {
  return beyond_magnitude(T{std::numeric_limits<T>::max_exponent - 2}, exponent);
}

// Whether x is a signalling NaN.
template <Float T>
DVM_ALWAYS_INLINE Bits<T> signalling(T x) {
  constexpr Bits<T> kQuiet = Format<T>::kInfinity | Bits<T>{1} << (Format<T>::kFraction - 1);
  return between(Format<T>::kInfinity, absolute(x), kQuiet);
}

// What taking the step from x to the next float raises.
struct SpacingFlags {
  // All but normal numbers; of the largest the next is infinite.
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> special(T x) {
    return not_positive_normal(absolute(x)) | overflow(x);
  }
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> overflow(T x) {
    return between(to_bits(std::numeric_limits<T>::max()) - 1, absolute(x), Format<T>::kInfinity);
  }
  // Where the next is subnormal.
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> underflow(T x) {
    return to_bits(absolute(x)) - (to_bits(std::numeric_limits<T>::min()) - 1);
  }
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> invalid(T x) {
    return signalling(x);
  }
};

// To the next float away from zero, of x's sign (but of -0 upwards, as NumPy has it).
template <typename A, Domain kDomain = Domain::all, Float T>
DVM_ALWAYS_INLINE T spacing(T x) {
  if constexpr (kDomain == Domain::plain) return from_bits<T>(to_bits(x) + 1) - x;
  const T size = absolute(x), from = size == 0 ? T{0} : x;
  const T step = from_bits<T>(to_bits(from) + 1) - from;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  return size < kInfinity ? step : size == kInfinity ? std::numeric_limits<T>::quiet_NaN() : x + x;
}

// The way from x to y by their bits. Answers are words of which the sign counts.
template <Float T>
struct Neighbours {
  Bits<T> size;    // |x|
  Bits<T> target;  // y; negative where x has the other sign

  DVM_ALWAYS_INLINE Neighbours(T x, T y)
      : size(to_bits(absolute(x))), target(to_bits(flip_sign(y, x))) {}

  DVM_ALWAYS_INLINE static Bits<T> is_zero(Bits<T> word) { return (word - 1) & ~word; }
  DVM_ALWAYS_INLINE Bits<T> outwards() const { return (size - target) & ~target; }
  DVM_ALWAYS_INLINE Bits<T> numbers() const {
    constexpr Bits<T> kInfinity = Format<T>::kInfinity;
    return ~((kInfinity - size) | (kInfinity - (target & ~Format<T>::kSign)));
  }
  // Zeros of either sign are equal.
  DVM_ALWAYS_INLINE Bits<T> equal() const {
    return is_zero(size ^ target) | is_zero((size | target) & ~Format<T>::kSign);
  }
  DVM_ALWAYS_INLINE Bits<T> step() const { return (all_if(outwards()) & 2) - 1; }
  // The magnitude of the next number, which from 0 is the least.
  DVM_ALWAYS_INLINE Bits<T> next() const {
    const Bits<T> from_zero = all_if(is_zero(size));
    return ((size + step()) & ~from_zero) | (from_zero & 1);
  }
};

// As the C library has it: a step to what is subnormal or zero underflows, one to infinity
// overflows.
struct NextafterFlags {
  // All but normal numbers and steps between them.
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> special(T x, T y) {
    const Bits<T> least = to_bits(std::numeric_limits<T>::min());
    const Bits<T> most = to_bits(std::numeric_limits<T>::max());
    const Bits<T> size = to_bits(absolute(x));
    return (size - (least + 1)) | (most - 1 - size) | (Format<T>::kInfinity - to_bits(absolute(y)));
  }
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> overflow(T x, T y) {
    const Neighbours<T> way(x, y);
    return Neighbours<T>::is_zero(way.next() ^ Format<T>::kInfinity) & way.outwards() &
           way.numbers();
  }
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> underflow(T x, T y) {
    const Neighbours<T> way(x, y);
    return (way.next() - to_bits(std::numeric_limits<T>::min())) & ~way.equal() & way.numbers();
  }
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> invalid(T x, T y) {
    return signalling(x) | signalling(y);
  }
};

// y where they are equal.
template <typename A, Domain kDomain = Domain::all, Float T>
DVM_ALWAYS_INLINE T nextafter(T x, T y) {
  const Neighbours<T> way(x, y);
  if constexpr (kDomain == Domain::plain) {
    return from_bits<T>(to_bits(x) + (way.step() & ~all_if(way.is_zero(way.size ^ way.target))));
  }
  const T sign = choose<T>(all_if(way.is_zero(way.size)), y, x);
  const T next = choose<T>(all_if(way.equal()), y, with_sign_of(from_bits<T>(way.next()), sign));
  return choose<T>(all_if(way.numbers()), next, x + y);
}

}  // namespace dvm::core::math
