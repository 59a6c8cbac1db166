// Runs of halves to f32 and back for one SIMD level, with the results and the status flags of
// core/ops/half.h: of f16 by F16C where the level has it, else by loops of its integer arithmetic.
#if defined(DVM_CPU_HALF_BLOCKS) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_HALF_BLOCKS
#undef DVM_CPU_HALF_BLOCKS
#else
#define DVM_CPU_HALF_BLOCKS
#endif

#include <algorithm>
#include <type_traits>

#include "cpu/move/elements.h"
#include "cpu/simd_level.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

inline constexpr SimdLevel kLevel =
#if HWY_TARGET == HWY_AVX3
    SimdLevel::avx512;
#elif HWY_TARGET == HWY_AVX2
    SimdLevel::avx2;
#else
    SimdLevel::portable;
#endif

template <core::AnyHalf H>
[[gnu::noinline]] bool widen_loop(const uint16_t* src, int64_t count, float* dst) {
  uint16_t signals = 0;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    signals |= static_cast<uint16_t>(core::signals<H>(src[i]));
    dst[i] = core::half_to_float<H>(src[i]);
  }
  return signals != 0;
}

template <core::AnyHalf H>
[[gnu::noinline]] core::FpFlags narrow_loop(const float* src, int64_t count, uint16_t* dst) {
  core::HalfRounding<H> rounding;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    rounding.note(src[i]);
    dst[i] = core::float_to_half<H>(src[i]);
  }
  return rounding.flags();
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

namespace hn = hwy::HWY_NAMESPACE;

// A whole vector at a time and the rest once more, overlapping; fewer than a vector by way of one
// on the stack. The conversion raises `invalid` for NaNs that signal, as whatever NumPy computes of
// them does: its sort of halves makes such NaNs.
[[gnu::noinline]] inline void widen_f16(const uint16_t* src, int64_t count, float* dst) {
  const hn::ScalableTag<float> wide;
  const hn::Rebind<hwy::float16_t, decltype(wide)> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  const auto* halves = reinterpret_cast<const hwy::float16_t*>(src);
  if (count < lanes) {
    uint16_t few[hn::MaxLanes(wide)] = {};
    float widened[hn::MaxLanes(wide)];
    std::copy_n(src, count, few);
    const auto* p = reinterpret_cast<const hwy::float16_t*>(few);
    hn::StoreU(hn::PromoteTo(wide, hn::LoadU(narrow, p)), wide, widened);
    std::copy_n(widened, count, dst);
    return;
  }
  for (int64_t i = 0; i < count; i += lanes) {
    const int64_t at = std::min(i, count - lanes);
    hn::StoreU(hn::PromoteTo(wide, hn::LoadU(narrow, halves + at)), wide, dst + at);
  }
}

// Rounded as the processor is set to. Not by DemoteTo: GCC 14 takes its flag for one that keeps the
// processor from noting overflow and underflow.
template <typename Vector>
DVM_ALWAYS_INLINE void store_narrowed(Vector wide, uint16_t* halves) {
#if HWY_TARGET == HWY_AVX3
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(halves),
                      _mm512_cvtps_ph(wide.raw, _MM_FROUND_CUR_DIRECTION));
#else
  _mm_storeu_si128(reinterpret_cast<__m128i*>(halves),
                   _mm256_cvtps_ph(wide.raw, _MM_FROUND_CUR_DIRECTION));
#endif
}

// The conversion raises overflow and underflow itself.
[[gnu::noinline]] inline void narrow_f16(const float* src, int64_t count, uint16_t* dst) {
  const hn::ScalableTag<float> wide;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  if (count < lanes) {
    float few[hn::MaxLanes(wide)] = {};
    uint16_t narrowed[hn::MaxLanes(wide)];
    std::copy_n(src, count, few);
    store_narrowed(hn::LoadU(wide, few), narrowed);
    std::copy_n(narrowed, count, dst);
    return;
  }
  for (int64_t i = 0; i < count; i += lanes) {
    const int64_t at = std::min(i, count - lanes);
    store_narrowed(hn::LoadU(wide, src + at), dst + at);
  }
}

inline constexpr bool kHasF16 = true;

#else

inline constexpr bool kHasF16 = false;
void widen_f16(const uint16_t* src, int64_t count, float* dst);
void narrow_f16(const float* src, int64_t count, uint16_t* dst);

#endif

template <core::AnyHalf H>
void widen(const uint16_t* src, int64_t count, float* dst) {
  if constexpr (kHasF16 && std::is_same_v<H, core::Half>) {
    widen_f16(src, count, dst);
  } else if (widen_loop<H>(src, count, dst)) {
    core::raise(core::kInvalid);
  }
}

template <core::AnyHalf H>
void narrow(const float* src, int64_t count, uint16_t* dst) {
  if constexpr (kHasF16 && std::is_same_v<H, core::Half>) {
    narrow_f16(src, count, dst);
  } else {
    core::raise(narrow_loop<H>(src, count, dst));
  }
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
