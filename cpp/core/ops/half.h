// Halves: binary floats of 16 bits, which are formats of storage. Arithmetic goes through float;
// here is the one conversion each way, on bits, so that it does not depend on F16C or on the
// compiler's idea of _Float16. Without branches or tables: a loop of them vectorises with nothing
// beyond SSE2.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/math/basis.h"
#include "core/ops/fp_flags.h"

namespace dvm::core {

template <int kExponentBits>
struct Float16 {
  static constexpr int kFractionBits = 15 - kExponentBits;
  static constexpr uint16_t kFraction = (1u << kFractionBits) - 1;
  static constexpr uint16_t kInfinity = 0x7fffu & ~kFraction;
  static constexpr uint16_t kNan =
      kInfinity | 1u << (kFractionBits - 1);  // quiet ones have that bit
  // Of a float: the bits of its fraction that it has beyond a half, what its exponent is larger by,
  // and the bits of the least float that is a normal half, and of the least that rounds to
  // infinity.
  static constexpr int kDropped = 23 - kFractionBits;
  static constexpr uint32_t kRebase = (127u - ((1u << (kExponentBits - 1)) - 1)) << 23;
  static constexpr uint32_t kLeastNormal = kRebase + (1u << 23);
  static constexpr uint32_t kOverflow =
      (uint32_t{kInfinity} << kDropped) + kRebase - (1u << (kDropped - 1));
  // Whether floats have smaller normal numbers.
  static constexpr bool kNarrowRange = kExponentBits < 8;
  // Added to what is below kLeastNormal, leaves its multiple of the least half in the low bits.
  static constexpr float kRound = std::bit_cast<float>(kLeastNormal + (uint32_t{kDropped} << 23));

  uint16_t bits = 0;
  bool operator==(const Float16&) const = default;
};
using Half = Float16<5>;      // IEEE binary16
using BFloat16 = Float16<8>;  // the upper half of a float

template <typename T>
inline constexpr bool kIsHalf = false;
template <int kExponentBits>
inline constexpr bool kIsHalf<Float16<kExponentBits>> = true;
template <typename T>
concept AnyHalf = kIsHalf<T>;

template <AnyHalf H>
DVM_ALWAYS_INLINE float half_to_float(uint16_t half) {
  const uint32_t magnitude = half & 0x7fffu;
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t quiet = magnitude > H::kInfinity ? 0x400000u : 0;
  const uint32_t special = magnitude << H::kDropped | 0x7f800000u | quiet;
  uint32_t finite = (magnitude << H::kDropped) + H::kRebase;
  if constexpr (H::kNarrowRange) {
    // A subnormal is an integer multiple of the least half; the product is exact and normal.
    constexpr float kLeast =
        std::bit_cast<float>(H::kLeastNormal - (uint32_t{H::kFractionBits} << 23));
    const auto tiny =
        std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * kLeast);
    finite = magnitude <= H::kFraction ? tiny : finite;
  }
  return std::bit_cast<float>((magnitude >= H::kInfinity ? special : finite) | sign);
}

// To nearest, ties to even; NaN stays NaN (quiet, top of its payload).
template <AnyHalf H>
DVM_ALWAYS_INLINE uint16_t float_to_half(float value) {
  constexpr int kDropped = H::kDropped;
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t sign = bits >> 16 & 0x8000u;
  // Rebase the exponent, add half an ulp less one, and one more when the last kept bit is odd. A
  // carry runs into the exponent, up to infinity, as rounding asks for.
  const uint32_t odd = magnitude >> kDropped & 1u;
  const uint32_t rounding = (1u << (kDropped - 1)) - 1 + odd;
  uint32_t result = (magnitude - H::kRebase + rounding) >> kDropped;
  if constexpr (H::kNarrowRange) {
    const bool is_small = magnitude < H::kLeastNormal;
    const auto small = std::bit_cast<float>(is_small ? magnitude : 0u);
    const uint32_t subnormal =
        std::bit_cast<uint32_t>(small + H::kRound) - std::bit_cast<uint32_t>(H::kRound);
    result = is_small ? subnormal : result;
    result = magnitude >= H::kOverflow ? H::kInfinity : result;
  }
  const uint32_t nan = H::kNan | (magnitude >> kDropped & H::kFraction);
  result = magnitude > 0x7f800000u ? nan : result;
  return static_cast<uint16_t>(result | sign);
}

// Whether a half is a NaN that signals: hardware that converts or computes raises `invalid`.
template <AnyHalf H>
DVM_ALWAYS_INLINE bool signals(uint16_t half) {
  const auto beyond = static_cast<uint16_t>((half & 0x7fffu) - (H::kInfinity + 1u));
  return beyond < (H::kNan - H::kInfinity) - 1u;
}

// What roundings to H raise, as hardware does. Gathered in a loop, without a branch, and raised
// after it.
template <AnyHalf H>
class HalfRounding {
 public:
  DVM_ALWAYS_INLINE void note(float x) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(x) & 0x7fffffffu;
    overflow_ |= magnitude - H::kOverflow < 0x7f800000u - H::kOverflow;  // finite
    const uint32_t small = magnitude < H::kLeastNormal ? magnitude : 0u;
    if constexpr (H::kNarrowRange) {
      const auto value = std::bit_cast<float>(small);
      underflow_ |= value + H::kRound - H::kRound != value;  // between multiples of the least half
    } else {
      underflow_ |= small & ((1u << H::kDropped) - 1);
    }
  }
  FpFlags flags() const {
    return static_cast<FpFlags>((overflow_ ? kOverflow : 0) | (underflow_ ? kUnderflow : 0));
  }

 private:
  uint32_t overflow_ = 0, underflow_ = 0;
};

// Rounded to odd, which keeps what a second rounding asks for: of the two floats around x the one
// whose last bit is set. By words, since comparing NaN would raise a flag.
DVM_ALWAYS_INLINE float rounded_to_odd(double x) {
  const auto near = static_cast<float>(x);
  const auto bits = std::bit_cast<uint32_t>(near);
  const double back = near;
  const uint64_t size = std::bit_cast<uint64_t>(x) << 1, got = std::bit_cast<uint64_t>(back) << 1;
  const uint32_t other = size > got ? bits + 1 : bits - 1;
  const bool exact = size == got || (bits & 1) != 0 || x != x;
  return exact ? near : std::bit_cast<float>(other);
}
// The same of magnitudes that a double does not hold.
DVM_ALWAYS_INLINE double rounded_to_odd(uint64_t x) {
  constexpr uint64_t kLow = (uint64_t{1} << 11) - 1;
  const uint64_t odd = (x & ~kLow) | ((x & kLow) != 0 ? kLow + 1 : 0);
  return static_cast<double>(x >> 53 != 0 ? odd : x);
}

// A float that rounds to the half that x rounds to.
template <AnyHalf H, typename T>
DVM_ALWAYS_INLINE float before_half(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return x;
  } else if constexpr (std::is_same_v<T, double>) {
    return rounded_to_odd(x);
  } else if constexpr (sizeof(T) < 4) {
    return static_cast<float>(static_cast<int32_t>(x));
  } else if constexpr (H::kNarrowRange) {
    // Beyond the halves all are infinite; within, floats are exact.
    constexpr T kBeyond = 70000;
    T bounded = x > kBeyond ? kBeyond : x;
    if constexpr (std::is_signed_v<T>) bounded = bounded < -kBeyond ? -kBeyond : bounded;
    return static_cast<float>(static_cast<int32_t>(bounded));
  } else if constexpr (sizeof(T) == 4) {
    return rounded_to_odd(static_cast<double>(x));
  } else {
    const bool negative = x < T{0};
    const auto word = static_cast<uint64_t>(x);
    const double magnitude = rounded_to_odd(negative ? -word : word);
    return rounded_to_odd(negative ? -magnitude : magnitude);
  }
}

template <AnyHalf H>
float to_float(H half) {
  return half_to_float<H>(half.bits);
}
template <AnyHalf H>
H to_half(float x) {
  HalfRounding<H> rounding;
  rounding.note(x);
  raise(rounding.flags());
  return {float_to_half<H>(x)};
}
// Rounds once, unlike to_half(float(x)).
template <AnyHalf H>
H half_from_double(double x) {
  return to_half<H>(rounded_to_odd(x));
}

}  // namespace dvm::core
