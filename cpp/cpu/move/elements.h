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

// Compute: what arithmetic is done in. load(store(x)) == x except for rounding to halves.
template <DType D>
struct Element {
  using Storage = core::Storage<D>;
  using Compute = Storage;
  DVM_ALWAYS_INLINE static Compute load(Storage x) { return x; }
  DVM_ALWAYS_INLINE static Storage store(Compute x) { return x; }
};
template <DType D>
requires(core::is_half(D)) struct Element<D> {
  using Half = core::Storage<D>;
  using Storage = uint16_t;  // the bits: structs do not vectorise
  using Compute = core::Storage<core::computes_in(D)>;
  DVM_ALWAYS_INLINE static Compute load(uint16_t x) { return core::half_to_float<Half>(x); }
  DVM_ALWAYS_INLINE static uint16_t store(Compute x) { return core::float_to_half<Half>(x); }
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

}  // namespace dvm::cpu
