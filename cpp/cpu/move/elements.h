// How the cpu's kernels read and write an element of each dtype: the type they compute in, and
// loads and stores that a compiler can turn into SIMD. Halves compute as float.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/math/basis.h"
#include "core/ops/dtype.h"
#include "core/ops/fp_flags.h"

namespace dvm::cpu {

using core::DType;

// fp16 conversions without branches or tables, so that a loop of them vectorises with nothing
// beyond SSE2. Same results as core::to_float and core::to_half for all bits.
DVM_ALWAYS_INLINE float half_to_float(uint16_t half) {
  const uint32_t magnitude = half & 0x7fffu;
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t rebased = (magnitude << 13) + ((127u - 15u) << 23);
  const uint32_t special = (magnitude << 13) | 0x7f800000u | (magnitude > 0x7c00u ? 0x400000u : 0);
  // A subnormal is an integer multiple of 2**-24; the product is exact and normal.
  const auto tiny =
      std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  const uint32_t finite = magnitude < 0x400u ? tiny : rebased;
  return std::bit_cast<float>((magnitude >= 0x7c00u ? special : finite) | sign);
}

DVM_ALWAYS_INLINE uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t sign = bits >> 16 & 0x8000u;
  // Normal halves: rebase the exponent, add half an ulp less one, and one more when the last kept
  // bit is odd. A carry runs into the exponent, up to infinity, as rounding asks for.
  const uint32_t odd = magnitude >> 13 & 1u;
  const uint32_t normal = (magnitude - ((127u - 15u) << 23) + 0xfffu + odd) >> 13;
  // Subnormal halves: adding 0.5 leaves the float's low bits counting multiples of 2**-24.
  const uint32_t small = magnitude < 0x38800000u ? magnitude : 0u;
  const uint32_t subnormal =
      std::bit_cast<uint32_t>(std::bit_cast<float>(small) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
  const uint32_t nan = 0x7e00u | (magnitude >> 13 & 0x3ffu);
  uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x47800000u ? 0x7c00u : result;  // 65536 and more
  result = magnitude > 0x7f800000u ? nan : result;
  return static_cast<uint16_t>(result | sign);
}

// Compute: what arithmetic is done in. load(store(x)) == x except for rounding to Half.
template <DType D>
struct Element {
  using Storage = core::Storage<D>;
  using Compute = Storage;
  DVM_ALWAYS_INLINE static Compute load(Storage x) { return x; }
  DVM_ALWAYS_INLINE static Storage store(Compute x) { return x; }
};
template <>
struct Element<DType::f16> {
  using Storage = uint16_t;  // the bits: structs do not vectorise
  using Compute = float;
  DVM_ALWAYS_INLINE static float load(uint16_t x) { return half_to_float(x); }
  DVM_ALWAYS_INLINE static uint16_t store(float x) { return float_to_half(x); }
};
// Any byte but 0 counts as true.
template <>
struct Element<DType::boolean> {
  using Storage = uint8_t;
  using Compute = bool;
  DVM_ALWAYS_INLINE static bool load(uint8_t x) { return x != 0; }
  DVM_ALWAYS_INLINE static uint8_t store(bool x) { return x; }
};
template <>
struct Element<DType::u8> {
  using Storage = uint8_t;
  using Compute = uint8_t;
  DVM_ALWAYS_INLINE static uint8_t load(uint8_t x) { return x; }
  DVM_ALWAYS_INLINE static uint8_t store(uint8_t x) { return x; }
};

// What rounding to D raises beyond what the hardware has seen: nothing, except for halves. Gathered
// in the loop, without a branch, and raised after it.
template <DType D>
class RoundingFlags {
 public:
  DVM_ALWAYS_INLINE void note(typename Element<D>::Compute) {}
  core::FpFlags flags() const { return 0; }
};
template <>
class RoundingFlags<DType::f16> {
 public:
  DVM_ALWAYS_INLINE void note(float x) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(x) & 0x7fffffffu;
    overflow_ |= magnitude - 0x477ff000u < 0x7f800000u - 0x477ff000u;  // 65520 and more, finite
    const float small = std::bit_cast<float>(magnitude < 0x38800000u ? magnitude : 0u);
    underflow_ |= small + 0.5f - 0.5f != small;  // between multiples of 2**-24
  }
  core::FpFlags flags() const {
    return static_cast<core::FpFlags>((overflow_ ? core::kOverflow : 0) |
                                      (underflow_ ? core::kUnderflow : 0));
  }

 private:
  uint32_t overflow_ = 0, underflow_ = 0;
};

// An operand of a loop over i: an array, or one element that stands for all. The choice is a
// template parameter, so that the loop has no branch and the element stays in a register.
template <DType D, bool kScalar>
class Source {
 public:
  using Compute = typename Element<D>::Compute;
  explicit Source(const std::byte* data) : data_(reinterpret_cast<const Storage*>(data)) {
    if constexpr (kScalar) value_ = Element<D>::load(*data_);
  }
  DVM_ALWAYS_INLINE Compute operator[](int64_t i) const {
    if constexpr (kScalar) {
      return value_;
    } else {
      return Element<D>::load(data_[i]);
    }
  }

 private:
  using Storage = typename Element<D>::Storage;
  const Storage* data_;
  Compute value_{};
};

// Calls f.template operator()<Word>() with the unsigned integer of an element's size: what moves
// elements without looking at them needs one body per size, not per dtype.
template <typename F>
void dispatch_bytes(int bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f.template operator()<uint8_t>();
    case 2:
      return f.template operator()<uint16_t>();
    case 4:
      return f.template operator()<uint32_t>();
    default:
      return f.template operator()<uint64_t>();
  }
}

}  // namespace dvm::cpu
