// What the polynomials of core/math_exp.h and its neighbours are written in: branch-free scalar
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

#include "core/fp_flags.h"

// Per-element code has to be inlined to become SIMD, however long it is and however often used.
#define DVM_ALWAYS_INLINE [[gnu::always_inline]] inline

namespace dvm::core::math {

template <typename T>
concept Float = std::floating_point<T>;

struct Fused {
  DVM_ALWAYS_INLINE static float mul_add(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
  }
  DVM_ALWAYS_INLINE static double mul_add(double a, double b, double c) {
    return __builtin_fma(a, b, c);
  }
};
struct Separate {
  template <Float T>
  DVM_ALWAYS_INLINE static T mul_add(T a, T b, T c) {
    return a * b + c;
  }
};

template <Float T>
struct Format;
template <>
struct Format<float> {
  using Bits = uint32_t;
  static constexpr int kFraction = 23;
  static constexpr Bits kSign = 0x80000000u, kOne = 0x3f800000u, kInfinity = 0x7f800000u;
  // Added to a number below 2**22, leaves its nearest integer in the low bits of the sum; a shift
  // by kFraction then makes it the bits of an exponent, since those of kRound itself drop out.
  static constexpr float kRound = 0x1.8p23f;
};
template <>
struct Format<double> {
  using Bits = uint64_t;
  static constexpr int kFraction = 52;
  static constexpr Bits kSign = 0x8000000000000000u, kOne = 0x3ff0000000000000u,
                        kInfinity = 0x7ff0000000000000u;
  static constexpr double kRound = 0x1.8p52;
};
template <Float T>
using Bits = typename Format<T>::Bits;

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

// c[0] + x * (c[1] + x * (c[2] + ...)), by Horner's rule.
template <typename A, Float T, int kCount>
DVM_ALWAYS_INLINE T polynomial(T x, const T (&c)[kCount]) {
  T sum = c[kCount - 1];
#pragma GCC unroll 32
  for (int i = kCount - 2; i >= 0; --i) sum = A::mul_add(sum, x, c[i]);
  return sum;
}

// The status flags of a function f are a struct of up to four questions on its argument, named as
// in MathFlags::note. The sign of the answer says yes. They are asked of the bits: comparing NaN
// would raise a flag itself, and words gather in a loop without a branch.
struct NoFlags {};

// low < x < high, of which only the sign counts.
template <Float T>
DVM_ALWAYS_INLINE Bits<T> between(Bits<T> low, T x, Bits<T> high) {
  return (low - to_bits(x)) & (to_bits(x) - high);
}

// Two more members where f leaves some arguments to the library: `hard`, a question as well, and
// `by_library`, which raises flags by itself.
template <typename Signs, typename T>
concept HasHardArguments = requires(T x) {
  Signs::hard(x);
  Signs::by_library(x);
};
template <typename Signs, Float T>
DVM_ALWAYS_INLINE bool is_hard(T x) {
  return Signs::hard(x) >> (8 * sizeof(T) - 1) != 0;
}

// What f raises for the arguments noted. What the arithmetic of f raised on the way is for the
// caller to drop (core::KeepFpFlags).
template <typename Signs, Float T>
class MathFlags {
 public:
  DVM_ALWAYS_INLINE void note([[maybe_unused]] T x) {
    if constexpr (requires { Signs::overflow(x); }) overflow_ |= Signs::overflow(x);
    if constexpr (requires { Signs::underflow(x); }) underflow_ |= Signs::underflow(x);
    if constexpr (requires { Signs::divide_by_zero(x); }) divide_ |= Signs::divide_by_zero(x);
    if constexpr (requires { Signs::invalid(x); }) invalid_ |= Signs::invalid(x);
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

// One element, raising what f raises and nothing else: the function as the reference and the
// simulated targets run it. Through memory, which the flags are ordered against.
template <typename Signs, Float T, typename F>
[[gnu::noinline]] T evaluate(T argument, F f) {
  if constexpr (HasHardArguments<Signs, T>) {
    if (is_hard<Signs>(argument)) return Signs::by_library(argument);
  }
  volatile T x = argument, y;
  {
    const KeepFpFlags keep;
    y = f(static_cast<T>(x));
  }
  MathFlags<Signs, T> flags;
  flags.note(argument);
  raise(flags.flags());
  return y;
}

}  // namespace dvm::core::math
