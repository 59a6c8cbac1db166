// Which elementwise ops compute the same bits: where elements are no floats, one kernel serves
// several ops, and most serve the signed dtype that is as wide. It is compiled once.
#pragma once

#include <type_traits>

#include "core/ops/dtype.h"
#include "cpu/elementwise/tile_ops.h"

namespace dvm::cpu {

constexpr DType unsigned_of(DType d) {
  switch (d) {
    case DType::i8:
      return DType::u8;
    case DType::i16:
      return DType::u16;
    case DType::i32:
      return DType::u32;
    case DType::i64:
      return DType::u64;
    default:
      return d;
  }
}

namespace tile_ops {

template <typename Op, typename... Ops>
inline constexpr bool kIsOneOf = (std::is_same_v<Op, Ops> || ...);

// Of two's complement, these alone look at the sign.
template <typename Op>
inline constexpr bool kSigned =
    kIsOneOf<Op, maximum, minimum, abs, sign, reciprocal, right_shift, bitwise_count>;

// Integers: whichever operand comes first.
template <typename Op>
inline constexpr bool kCommutes = kIsOneOf<Op, add, mul, maximum, minimum, logical_and, logical_or,
                                           logical_xor, bitwise_and, bitwise_or, bitwise_xor>;

// The op that stands for Op on elements of that kind.
template <core::Kind kKind, typename Op>
struct SameOp {
  using Type = Op;
};
#define DVM_SAME(kind, op, same)        \
  template <>                           \
  struct SameOp<core::Kind::kind, op> { \
    using Type = same;                  \
  };
DVM_SAME(integer, fmax, maximum)
DVM_SAME(integer, fmin, minimum)
DVM_SAME(integer, floor, positive)
DVM_SAME(integer, ceil, positive)
DVM_SAME(integer, trunc, positive)
DVM_SAME(integer, isinf, isnan)
DVM_SAME(boolean, add, logical_or)
DVM_SAME(boolean, maximum, logical_or)
DVM_SAME(boolean, fmax, logical_or)
DVM_SAME(boolean, bitwise_or, logical_or)
DVM_SAME(boolean, mul, logical_and)
DVM_SAME(boolean, minimum, logical_and)
DVM_SAME(boolean, fmin, logical_and)
DVM_SAME(boolean, bitwise_and, logical_and)
DVM_SAME(boolean, bitwise_xor, logical_xor)
DVM_SAME(boolean, invert, logical_not)
DVM_SAME(boolean, floor, abs)
DVM_SAME(boolean, ceil, abs)
DVM_SAME(boolean, trunc, abs)
DVM_SAME(boolean, isinf, isnan)
#undef DVM_SAME

}  // namespace tile_ops

// The kernel of Op on D is that of SameBits<Op, D>::Op on SameBits<Op, D>::kDType.
template <typename Written, DType D>
struct SameBits {
  using Op = typename tile_ops::SameOp<core::info(D).kind, Written>::Type;
  static constexpr DType kDType = tile_ops::kSigned<Op> ? D : unsigned_of(D);
};

}  // namespace dvm::cpu
