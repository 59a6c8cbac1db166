// What the polynomials of core/math/exp.h and its neighbours are written in: branch-free scalar
// code on float and double, of which a compiler makes SIMD for any width. One source serves the
// reference evaluator, the simulated targets and every SIMD level of the cpu, so that they agree
// bit by bit wherever a fused multiply-add exists.
//
// The arithmetic A is a policy: Fused rounds a * b + c once; Separate, for machines that would have
// to emulate that, rounds twice and stays within the same bounds of error.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/ops/fp_flags.h"

// Per-element code has to be inlined to become SIMD, however long it is and however often used.
#define DVM_ALWAYS_INLINE [[gnu::always_inline]] inline

// Iterations of the loop that follows touch different elements: what is written may equal a source
// exactly, but never overlaps one otherwise.
#ifdef __clang__
#define DVM_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define DVM_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace dvm::core::math {

template <typename T>
concept Float = std::floating_point<T>;

struct Fused {
  static constexpr bool kExact = true;  // mul_add(a, b, -(a * b)) is what a * b lost
  DVM_ALWAYS_INLINE static float mul_add(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
  }
  DVM_ALWAYS_INLINE static double mul_add(double a, double b, double c) {
    return __builtin_fma(a, b, c);
  }
};
struct Separate {
  static constexpr bool kExact = false;
  template <Float T>
  DVM_ALWAYS_INLINE static T mul_add(T a, T b, T c) {
    return a * b + c;
  }
};

// The bits of a number, as an integer of its width.
template <typename T>
using Bits =
    std::conditional_t<sizeof(T) == 1, uint8_t,
                       std::conditional_t<sizeof(T) == 2, uint16_t,
                                          std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

template <Float T>
struct Format;
template <>
struct Format<float> {
  static constexpr int kFraction = 23;
  static constexpr uint32_t kSign = 0x80000000u, kOne = 0x3f800000u, kInfinity = 0x7f800000u;
  // Added to a number below 2**22, leaves its nearest integer in the low bits of the sum; a shift
  // by kFraction then makes it the bits of an exponent, since those of kRound itself drop out.
  static constexpr float kRound = 0x1.8p23f;
};
template <>
struct Format<double> {
  static constexpr int kFraction = 52;
  static constexpr uint64_t kSign = 0x8000000000000000u, kOne = 0x3ff0000000000000u,
                            kInfinity = 0x7ff0000000000000u;
  static constexpr double kRound = 0x1.8p52;
};

template <Float T>
DVM_ALWAYS_INLINE Bits<T> to_bits(T x) {
  return std::bit_cast<Bits<T>>(x);
}
template <Float T>
DVM_ALWAYS_INLINE T from_bits(Bits<T> bits) {
  return std::bit_cast<T>(bits);
}
template <Float T>
DVM_ALWAYS_INLINE T absolute(T x) {
  return from_bits<T>(to_bits(x) & ~Format<T>::kSign);
}
// std::copysign, of which GCC 12 makes no SIMD in every loop.
template <Float T>
DVM_ALWAYS_INLINE T with_sign_of(T magnitude, T sign) {
  return from_bits<T>((to_bits(magnitude) & ~Format<T>::kSign) |
                      (to_bits(sign) & Format<T>::kSign));
}

// x, with the other sign if `sign` is negative.
template <Float T>
DVM_ALWAYS_INLINE T flip_sign(T x, T sign) {
  return from_bits<T>(to_bits(x) ^ (to_bits(sign) & Format<T>::kSign));
}

// c[0] + x * (c[1] + x * (c[2] + ...)), by Horner's rule.
template <typename A, Float T, int kCount>
DVM_ALWAYS_INLINE T polynomial(T x, const T (&c)[kCount]) {
  T sum = c[kCount - 1];
#pragma GCC unroll 32
  for (int i = kCount - 2; i >= 0; --i) sum = A::mul_add(sum, x, c[i]);
  return sum;
}

// The same, of two halves that do not wait for one another: the terms of even powers and the
// others.
template <typename A, Float T, int kCount>
DVM_ALWAYS_INLINE T polynomial_in_halves(T x, const T (&c)[kCount]) {
  constexpr int kEven = (kCount - 1) / 2 * 2, kOdd = kCount / 2 * 2 - 1;  // the last of each
  const T square = x * x;
  T even = c[kEven], odd = c[kOdd];
#pragma GCC unroll 32
  for (int i = kEven - 2; i >= 0; i -= 2) even = A::mul_add(even, square, c[i]);
#pragma GCC unroll 32
  for (int i = kOdd - 2; i >= 0; i -= 2) odd = A::mul_add(odd, square, c[i]);
  return A::mul_add(odd, x, even);
}

// What a function f says of its arguments is a struct of questions, each asked of the bits: the
// sign of the answer says yes. Comparing NaN would raise a flag itself, and words gather in a loop
// without a branch. All are optional:
//   overflow, underflow, divide_by_zero, invalid   what f raises
//   special   whether f needs its Domain::all. Where a whole block of arguments is not, all of them
//             are computed as Domain::plain, which raises nothing, with the same bits.
//   hard      whether the element is left to `by_library`, which raises flags by itself; where a
//             function has both, special arguments include the hard ones
struct NoFlags {};

// Which arguments a function may be called with: any, or those that are not special.
enum class Domain : uint8_t { all, plain };

// low < x < high, of which only the sign counts.
template <Float T>
DVM_ALWAYS_INLINE Bits<T> between(Bits<T> low, T x, Bits<T> high) {
  return (low - to_bits(x)) & (to_bits(x) - high);
}
// |x| > bound, NaN included.
template <Float T>
DVM_ALWAYS_INLINE Bits<T> beyond_magnitude(T bound, T x) {
  return to_bits(bound) - to_bits(absolute(x));
}
// Whether x is anything but positive, normal and finite.
template <Float T>
DVM_ALWAYS_INLINE Bits<T> not_positive_normal(T x) {
  const Bits<T> least = to_bits(std::numeric_limits<T>::min());
  // Infinity and beyond become negative by the sum, what is less or negative by the difference.
  return (to_bits(x) - least) | (to_bits(x) + least);
}

template <Float T>
DVM_ALWAYS_INLINE bool says_yes(Bits<T> answer) {
  return answer >> (8 * sizeof(T) - 1) != 0;
}

// All bits if the answer is yes, else none; and a choice by such a mask.
template <std::unsigned_integral Word>
DVM_ALWAYS_INLINE Word all_if(Word answer) {
  return Word{0} - (answer >> (8 * sizeof(Word) - 1));
}
template <Float T>
DVM_ALWAYS_INLINE T choose(Bits<T> mask, std::type_identity_t<T> yes, std::type_identity_t<T> no) {
  return from_bits<T>((to_bits(yes) & mask) | (to_bits(no) & ~mask));
}

template <typename Signs, typename... T>
concept HasSpecialArguments = requires(T... x) {
  Signs::special(x...);
};
template <typename Signs, typename... T>
concept HasHardArguments = requires(T... x) {
  Signs::hard(x...);
  Signs::by_library(x...);
};
// Of no function without them are arguments hard.
template <typename Signs, Float T, typename... More>
DVM_ALWAYS_INLINE Bits<T> hard_or_none(T first, More... more) {
  if constexpr (HasHardArguments<Signs, T, More...>) {
    return Signs::hard(first, more...);
  } else {
    return 0;
  }
}

// What f raises for the arguments noted. What the arithmetic of f raised on the way is for the
// caller to drop (core::KeepFpFlags).
template <typename Signs, Float T>
class MathFlags {
 public:
  template <typename... U>
  DVM_ALWAYS_INLINE void note([[maybe_unused]] U... x) {
    if constexpr (requires { Signs::overflow(x...); }) overflow_ |= Signs::overflow(x...);
    if constexpr (requires { Signs::underflow(x...); }) underflow_ |= Signs::underflow(x...);
    if constexpr (requires { Signs::divide_by_zero(x...); }) divide_ |= Signs::divide_by_zero(x...);
    if constexpr (requires { Signs::invalid(x...); }) invalid_ |= Signs::invalid(x...);
  }
  FpFlags flags() const {
    constexpr int kSign = 8 * sizeof(T) - 1;
    return static_cast<FpFlags>(
        (overflow_ >> kSign) * kOverflow | (underflow_ >> kSign) * kUnderflow |
        (divide_ >> kSign) * kDivideByZero | (invalid_ >> kSign) * kInvalid);
  }

 private:
  Bits<T> overflow_ = 0, underflow_ = 0, divide_ = 0, invalid_ = 0;
};

template <typename T>
DVM_ALWAYS_INLINE T through_memory(T x) {
  volatile T y = x;
  return y;
}

// One element, raising what f raises and nothing else: the function as the reference and the
// simulated targets run it. Through memory, which the flags are ordered against.
template <typename F, typename... T>
[[gnu::noinline]] auto quietly(F f, T... argument) {
  const KeepFpFlags keep;
  return through_memory(f(through_memory(argument)...));
}
template <typename Signs, typename F, Float T, typename... More>
T evaluate(F f, T first, More... more) {
  if constexpr (HasHardArguments<Signs, T, More...>) {
    const auto ask = [](auto... x) { return Signs::hard(x...); };
    if (says_yes<T>(quietly(ask, first, more...))) return Signs::by_library(first, more...);
  }
  MathFlags<Signs, T> flags;
  flags.note(first, more...);
  const T y = quietly(f, first, more...);
  raise(flags.flags());
  return y;
}

}  // namespace dvm::core::math
