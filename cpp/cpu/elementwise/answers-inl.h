// Questions whose answers are bools, for one SIMD level: with AVX-512 an answer is a bit of a mask,
// and 64 of them are stored at once. The compiler's loop widens each mask to a vector and narrows
// that again, step by step. Included inside no namespace by files that for_each_level.h compiles,
// once per level.
#if defined(DVM_CPU_ANSWERS) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_ANSWERS
#undef DVM_CPU_ANSWERS
#else
#define DVM_CPU_ANSWERS
#endif

#include <functional>
#include <type_traits>

#include "cpu/elementwise/tile_ops.h"
#include "cpu/move/elements.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

// Ask<Op>::vector(a, b) are the answers of two vectors; of what has none the compiler's loop is
// good enough.
template <typename Op>
struct Ask {};

#if HWY_TARGET == HWY_AVX3

namespace hn = hwy::HWY_NAMESPACE;

template <typename V>
DVM_ALWAYS_INLINE auto is_zero(V a) {
  return hn::Eq(a, hn::Zero(hn::DFromV<V>()));
}

// hn::Le is of floats alone.
template <typename V>
DVM_ALWAYS_INLINE auto at_most(V a, V b) {
  if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
    return hn::Le(a, b);
  } else {
    return hn::Not(hn::Lt(b, a));
  }
}
template <typename V>
concept OfFloats = hwy::IsFloat<hn::TFromV<V>>();

#define DVM_ASK(op, answers, ...)                                                 \
  template <>                                                                     \
  struct Ask<op> {                                                                \
    template <typename V>                                                         \
    DVM_ALWAYS_INLINE static auto vector(V a, [[maybe_unused]] V b) __VA_ARGS__ { \
      return answers;                                                             \
    }                                                                             \
  };
DVM_ASK(std::equal_to<>, hn::Eq(a, b))
DVM_ASK(std::not_equal_to<>, hn::Not(hn::Eq(a, b)))  // hn::Ne is false of NaN
DVM_ASK(std::less<>, hn::Lt(a, b))
DVM_ASK(std::less_equal<>, at_most(a, b))
DVM_ASK(tile_ops::isnan, hn::IsNaN(a), requires OfFloats<V>)
DVM_ASK(tile_ops::isinf, hn::IsInf(a), requires OfFloats<V>)
DVM_ASK(tile_ops::isfinite, hn::IsFinite(a), requires OfFloats<V>)
DVM_ASK(tile_ops::signbit, hn::MaskFromVec(a), requires OfFloats<V>)
DVM_ASK(tile_ops::logical_not, is_zero(a))
#undef DVM_ASK

#endif

// How many elements are done: all but the last few, or none.
template <typename Op, bool kScalarA, bool kScalarB, typename T>
DVM_ALWAYS_INLINE int64_t answer([[maybe_unused]] const T* a, [[maybe_unused]] const T* b,
                                 [[maybe_unused]] uint8_t* dst, [[maybe_unused]] int64_t size) {
  int64_t i = 0;
#if HWY_TARGET == HWY_AVX3
  const hn::ScalableTag<T> tag;
  using V = hn::Vec<decltype(tag)>;
  if constexpr ((sizeof(T) == 4 || sizeof(T) == 8) && requires(V v) { Ask<Op>::vector(v, v); }) {
    constexpr int64_t kAnswers = 64, kLanes = hn::MaxLanes(tag);
    const V all_a = kScalarA ? hn::Set(tag, *a) : hn::Zero(tag);
    const V all_b = kScalarB ? hn::Set(tag, *b) : hn::Zero(tag);
    for (; i + kAnswers <= size; i += kAnswers) {
      uint64_t answers = 0;
#pragma GCC unroll 8
      for (int64_t lane = 0; lane < kAnswers; lane += kLanes) {
        const V x = kScalarA ? all_a : hn::LoadU(tag, a + i + lane);
        const V y = kScalarB ? all_b : hn::LoadU(tag, b + i + lane);
        answers |= uint64_t{Ask<Op>::vector(x, y).raw} << lane;
      }
      _mm512_storeu_si512(dst + i, _mm512_maskz_set1_epi8(answers, 1));
    }
  }
#endif
  return i;
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
