// fp16 conversions and the text of element types. Conversions work on bits, so that they do not
// depend on F16C, the rounding mode or the compiler's idea of _Float16; the status flags that the
// hardware would raise are raised by hand.
#include "core/ops/dtype.h"

#include <bit>

#include "core/ops/fp_flags.h"

namespace dvm::core {

float to_float(Half h) {
  const uint32_t sign = uint32_t{h.bits} >> 15 << 31;
  const uint32_t exponent = h.bits >> 10 & 31, fraction = h.bits & 0x3ff;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // exact
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  if (exponent == 31) {
    const uint32_t quiet = fraction != 0 ? 0x400000 : 0;
    return std::bit_cast<float>(sign | 0x7f800000 | quiet | fraction << 13);
  }
  return std::bit_cast<float>(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

Half half_from_double(double d) {
  constexpr int kDropped = 52 - 10;  // fraction bits a double has beyond a normal half
  const auto bits = std::bit_cast<uint64_t>(d);
  const auto sign = static_cast<uint16_t>(bits >> 63 << 15);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  const auto with_sign = [&](uint64_t magnitude) {
    return Half{static_cast<uint16_t>(sign | magnitude)};
  };
  if (exponent == 1024) return with_sign(0x7c00 | (fraction ? 0x200 | fraction >> kDropped : 0));
  if (exponent > 15) {
    raise(kOverflow);
    return with_sign(0x7c00);
  }
  if (exponent < -25) {  // below half of the smallest subnormal
    if (d != 0) raise(kUnderflow);
    return with_sign(0);
  }

  // Below 2**-14 the implicit bit becomes explicit and the value shifts down further. A carry out
  // of the fraction moves to the next exponent, up to infinity, which is what rounding asks for.
  const bool normal = exponent >= -14;
  const int shift = normal ? kDropped : kDropped + (-14 - exponent);
  const uint64_t significand = normal ? fraction : fraction | uint64_t{1} << 52;
  const uint64_t base = normal ? static_cast<uint64_t>(exponent + 15) << 10 : 0;
  const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
  const uint64_t tie = uint64_t{1} << (shift - 1);
  uint64_t kept = base + (significand >> shift);
  if (rest > tie || (rest == tie && (kept & 1))) ++kept;
  if (kept >= 0x7c00) raise(kOverflow);
  if (!normal && rest != 0) raise(kUnderflow);
  return with_sign(kept);
}

Half to_half(float f) { return half_from_double(f); }

std::optional<DType> dtype_from_text(std::string_view text) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kDTypes[i].text == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

Scalar round_to(DType dtype, Scalar value) {
  return dispatch(dtype, [&]<DType D>() {
    if constexpr (D == DType::boolean) {
      return Scalar::of_int(value.as_int() != 0);
    } else if constexpr (D == DType::f16) {
      return Scalar::of_float(to_float(half_from_double(value.as_float())));
    } else if constexpr (is_floating(D)) {
      return Scalar::of_float(static_cast<Storage<D>>(value.as_float()));
    } else {
      return Scalar::of_int(static_cast<int64_t>(static_cast<Storage<D>>(value.as_int())));
    }
  });
}

std::string integer_text(DType dtype, Scalar value) {
  const int64_t bits = value.as_int();
  return dtype == DType::u64 ? std::to_string(static_cast<uint64_t>(bits)) : std::to_string(bits);
}

}  // namespace dvm::core
