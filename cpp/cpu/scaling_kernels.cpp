// ldexp of f32 and f64: where the exponents of a block are those of normal numbers, one product.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/scaling_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include <algorithm>

#include "cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

namespace math = core::math;

constexpr int64_t kScalings = 512;

template <typename T>
[[gnu::noinline]] bool take_more_powers(const T* exponents, int64_t size) {
  math::Bits<T> answer = 0;
  for (int64_t i = 0; i < size; ++i) answer |= math::takes_more_powers(exponents[i]);
  return math::says_yes<T>(answer);
}

template <typename T>
[[gnu::noinline]] void by_one_power(const T* x, const T* exponents, T* dst, int64_t size) {
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) dst[i] = x[i] * math::power_of_two(exponents[i]);
}
template <typename T>
[[gnu::noinline]] void by_powers(const T* x, const T* exponents, T* dst, int64_t size) {
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) dst[i] = math::ldexp(x[i], exponents[i]);
}
template <typename T>
[[gnu::noinline]] void by_same_powers(const T* x, math::PowersOfTwo<T> powers, T* dst,
                                      int64_t size) {
  const auto [first, second, last] = powers;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) dst[i] = x[i] * first * second * last;
}

template <DType D>
void ldexp_kernel(const TileArgs& args) noexcept {
  using T = core::Storage<D>;
  const auto* x = reinterpret_cast<const T*>(args.src[0]);
  const auto* exponents = reinterpret_cast<const T*>(args.src[1]);
  auto* dst = reinterpret_cast<T*>(args.dst);
  const bool one = (args.scalar_mask & 1) != 0, same = (args.scalar_mask & 2) != 0;
  T repeated[kScalings];
  if (one) std::fill_n(repeated, std::min(kScalings, args.size), *x);
  for (int64_t begin = 0; begin < args.size; begin += kScalings) {
    const int64_t size = std::min(kScalings, args.size - begin);
    const T* const from = one ? repeated : x + begin;
    if (same) {
      by_same_powers(from, math::powers_of_two(*exponents), dst + begin, size);
    } else if (take_more_powers(exponents + begin, size)) {
      by_powers(from, exponents + begin, dst + begin, size);
    } else {
      by_one_power(from, exponents + begin, dst + begin, size);
    }
  }
}

void fill_scalings(KernelTable& table) {
  table.entry(Insn::ldexp, DType::f32) = ldexp_kernel<DType::f32>;
  table.entry(Insn::ldexp, DType::f64) = ldexp_kernel<DType::f64>;
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_scalings)
}
#endif
