// Hand-written loops of benchmarks, once per SIMD level: includes DVM_LOOPS in the namespaces
// avx512 and avx2, after Vector, kLanes and what the levels have no common name for. <immintrin.h>
// first.
#define INLINE [[gnu::always_inline]] inline

// The intrinsics of GCC 12 begin with an undefined vector.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,bmi2,fma")
namespace avx512 {
#define LAYER(name) _mm512_##name
using Vector = __m512;
using Condition = __mmask16;
constexpr size_t kLanes = 16;

INLINE Condition first(size_t n) { return static_cast<Condition>((1u << n) - 1); }
INLINE Vector load(const float* from, Condition some) { return _mm512_maskz_loadu_ps(some, from); }
INLINE void store(float* to, Condition some, Vector a) { _mm512_mask_storeu_ps(to, some, a); }
INLINE Condition less(Vector a, Vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
INLINE Vector choose(Condition c, Vector a, Vector b) { return _mm512_mask_blend_ps(c, b, a); }
INLINE Vector maximum(Vector a, Vector b) {
  const Condition less = _mm512_cmp_round_ps_mask(a, b, _CMP_NGT_UQ, _MM_FROUND_NO_EXC);
  const Condition other = _mm512_mask_cmp_round_ps_mask(less, a, a, _CMP_ORD_Q, _MM_FROUND_NO_EXC);
  return _mm512_mask_blend_ps(other, a, b);
}
INLINE Vector scale(Vector y, Vector t) {
  return _mm512_castsi512_ps(
      _mm512_add_epi32(_mm512_castps_si512(y), _mm512_slli_epi32(_mm512_castps_si512(t), 23)));
}
INLINE Vector with_sign(Vector a, Vector magnitude) {
  return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(
      _mm512_set1_epi32(INT32_MIN), _mm512_castps_si512(a), _mm512_castps_si512(magnitude), 0xca));
}
INLINE Vector absolute(Vector a) { return _mm512_abs_ps(a); }
#include "simd_math-inl.h"
#include DVM_LOOPS
#undef LAYER
}  // namespace avx512
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,bmi2,fma")
namespace avx2 {
#define LAYER(name) _mm256_##name
using Vector = __m256;
using Condition = __m256;
constexpr size_t kLanes = 8;

INLINE Condition first(size_t n) {
  static constexpr int32_t kMasks[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_ps(reinterpret_cast<const float*>(kMasks + 8 - n));
}
INLINE Vector load(const float* from, Condition some) {
  return _mm256_maskload_ps(from, _mm256_castps_si256(some));
}
INLINE void store(float* to, Condition some, Vector a) {
  _mm256_maskstore_ps(to, _mm256_castps_si256(some), a);
}
INLINE Condition less(Vector a, Vector b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
INLINE Vector choose(Condition c, Vector a, Vector b) { return _mm256_blendv_ps(b, a, c); }
INLINE Vector maximum(Vector a, Vector b) {
  return _mm256_blendv_ps(_mm256_max_ps(a, b), a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}
INLINE Vector scale(Vector y, Vector t) {
  return _mm256_castsi256_ps(
      _mm256_add_epi32(_mm256_castps_si256(y), _mm256_slli_epi32(_mm256_castps_si256(t), 23)));
}
INLINE Vector with_sign(Vector a, Vector magnitude) {
  const Vector sign = _mm256_set1_ps(-0.0f);
  return _mm256_or_ps(_mm256_and_ps(a, sign), _mm256_andnot_ps(sign, magnitude));
}
INLINE Vector absolute(Vector a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
#include "simd_math-inl.h"
#include DVM_LOOPS
#undef LAYER
}  // namespace avx2
#pragma GCC pop_options
#undef INLINE
#undef DVM_LOOPS
