// power of integers: a block squares its bases as often as the largest of its exponents has bits,
// and each element multiplies those that its own exponent asks for. What wraps does so alike for
// both signs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elementwise/integer_power_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include <algorithm>

#include "cpu/elementwise/elementwise-inl.h"

#if DVM_LEVEL_IS_HERE

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

constexpr int64_t kPowers = 512;

template <typename W>
[[gnu::noinline]] void multiply_by_bit(W* base, W* exponent, W* result, int64_t size) {
  using U = tile_ops::Unsigned<W>;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) {
    const W chosen = static_cast<W>(0 - (exponent[i] & 1u));
    result[i] = static_cast<W>(U{result[i]} * ((base[i] & chosen) | (~chosen & 1u)));
    base[i] = static_cast<W>(U{base[i]} * base[i]);
    exponent[i] = static_cast<W>(exponent[i] >> 1);
  }
}

// Negative exponents, which NumPy refuses, give 0; whether there is one.
template <typename W>
[[gnu::noinline]] bool take_negative(W* exponent, W* base, int64_t size) {
  constexpr int kSign = 8 * sizeof(W) - 1;
  W any = 0;
  for (int64_t i = 0; i < size; ++i) {
    const W negative = static_cast<W>(0 - static_cast<W>(exponent[i] >> kSign));
    any |= negative;
    base[i] = static_cast<W>(base[i] & ~negative);
    exponent[i] = static_cast<W>((exponent[i] & ~negative) | (negative & 1));
  }
  return any != 0;
}

// Powers of integers as wide as W, and whether an exponent is negative.
template <typename W>
[[gnu::noinline]] bool powers(const TileArgs& args, bool is_signed) {
  alignas(64) W operands[2][kPowers], result[kPowers];
  bool negative = false;
  for (int64_t begin = 0; begin < args.size; begin += kPowers) {
    const int64_t size = std::min(kPowers, args.size - begin);
    for (int k = 0; k < 2; ++k) {
      const auto* src = reinterpret_cast<const W*>(args.src[k]);
      if ((args.scalar_mask >> k & 1) != 0) {
        std::fill_n(operands[k], size, *src);
      } else {
        std::copy_n(src + begin, size, operands[k]);
      }
    }
    W *const base = operands[0], *const exponent = operands[1];
    if (is_signed) negative |= take_negative(exponent, base, size);
    std::fill_n(result, size, W{1});
    W bits = 0;
    for (int64_t i = 0; i < size; ++i) bits |= exponent[i];
    for (; bits != 0; bits = static_cast<W>(bits >> 1)) {
      multiply_by_bit(base, exponent, result, size);
    }
    std::copy_n(result, size, reinterpret_cast<W*>(args.dst) + begin);
  }
  return negative;
}

template <DType D>
void power_kernel(const TileArgs& args) noexcept {
  using T = core::Storage<D>;
  if (powers<std::make_unsigned_t<T>>(args, std::is_signed_v<T>)) core::raise(core::kInvalid);
}

void fill_integer_powers(KernelTable& table) {
  const auto fill = [&]<DType D>() {
    if constexpr (core::info(D).kind == core::Kind::integer) {
      table.entry(Insn::power, D) = power_kernel<D>;
    }
  };
  for (int d = 0; d < core::kDTypeCount; ++d) core::dispatch(static_cast<DType>(d), fill);
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if DVM_CHOOSES_LEVEL
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_integer_powers)
}
#endif
