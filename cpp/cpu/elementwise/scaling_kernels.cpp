// ldexp of f32 and f64: where the exponents of a block are those of normal numbers, one product,
// and with AVX-512 one instruction anyway.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elementwise/scaling_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "cpu/elementwise/elementwise-inl.h"

#if DVM_LEVEL_IS_HERE

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

namespace math = core::math;

constexpr int64_t kScalings = 512;

#if HWY_TARGET == HWY_AVX3
// One instruction for any exponent.
DVM_ALWAYS_INLINE void scale_some(__mmask16 there, const float* x, const float* exponents,
                                  float* dst) {
  const __m512 scaled = _mm512_maskz_scalef_ps(there, _mm512_maskz_loadu_ps(there, x),
                                               _mm512_maskz_loadu_ps(there, exponents));
  _mm512_mask_storeu_ps(dst, there, scaled);
}
DVM_ALWAYS_INLINE void scale_some(__mmask8 there, const double* x, const double* exponents,
                                  double* dst) {
  const __m512d scaled = _mm512_maskz_scalef_pd(there, _mm512_maskz_loadu_pd(there, x),
                                                _mm512_maskz_loadu_pd(there, exponents));
  _mm512_mask_storeu_pd(dst, there, scaled);
}
template <typename T>
void scale(const T* x, const T* exponents, T* dst, int64_t size) {
  using Mask = std::conditional_t<sizeof(T) == 4, __mmask16, __mmask8>;
  constexpr auto kAll = std::numeric_limits<Mask>::max();
  constexpr int64_t kPerVector = std::numeric_limits<Mask>::digits;
  int64_t i = 0;
  for (; i + kPerVector <= size; i += kPerVector) scale_some(kAll, x + i, exponents + i, dst + i);
  const auto rest = static_cast<Mask>(_bzhi_u32(kAll, static_cast<uint32_t>(size - i)));
  if (rest != 0) scale_some(rest, x + i, exponents + i, dst + i);
}
#else
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
void scale(const T* x, const T* exponents, T* dst, int64_t size) {
  if (take_more_powers(exponents, size)) {
    by_powers(x, exponents, dst, size);
  } else {
    by_one_power(x, exponents, dst, size);
  }
}
#endif

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
    } else {
      scale(from, exponents + begin, dst + begin, size);
    }
  }
}

void fill_scalings(KernelTable& table) {
  table.entry(Insn::ldexp, DType::f32) = ldexp_kernel<DType::f32>;
  table.entry(Insn::ldexp, DType::f64) = ldexp_kernel<DType::f64>;
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if DVM_CHOOSES_LEVEL
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_scalings)
}
#endif
