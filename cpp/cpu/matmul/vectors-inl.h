// Vectors as wide as a SIMD level has them, whole or in part, for products of matrices.
#if defined(DVM_CPU_MATMUL_VECTORS) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_MATMUL_VECTORS
#undef DVM_CPU_MATMUL_VECTORS
#else
#define DVM_CPU_MATMUL_VECTORS
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/math/basis.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE::matmul {

#if HWY_TARGET == HWY_AVX3
inline constexpr int kBytes = 64;
#elif HWY_TARGET == HWY_AVX2
inline constexpr int kBytes = 32;
#else
inline constexpr int kBytes = 16;
#endif

template <typename T, int kSize>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kSize)));
  typedef T Packed __attribute__((vector_size(kSize), aligned(1), may_alias));
};
template <typename T, int kSize = kBytes>
using Vec = typename VectorOf<T, kSize>::Type;
template <typename T>
inline constexpr int kLanes = kBytes / static_cast<int>(sizeof(T));

template <typename T, int kSize = kBytes>
DVM_ALWAYS_INLINE Vec<T, kSize> load(const void* p) {
  return *static_cast<const typename VectorOf<T, kSize>::Packed*>(p);
}
template <typename V>
DVM_ALWAYS_INLINE void store(V x, void* p) {
  std::memcpy(p, &x, sizeof(x));
}
template <typename T>
DVM_ALWAYS_INLINE Vec<T> broadcast(T x) {
  return x - Vec<T>{};
}

// The first `count` lanes, of which there may be fewer or all, and zeros in the others. No other
// byte is touched.
template <typename T>
DVM_ALWAYS_INLINE Vec<T> load_some(const void* p, int64_t count) {
#if HWY_TARGET == HWY_AVX3
  const auto bytes = static_cast<uint32_t>(count * int64_t{sizeof(T)});
  return reinterpret_cast<Vec<T>>(_mm512_maskz_loadu_epi8(_bzhi_u64(~uint64_t{0}, bytes), p));
#else
  Vec<T> x{};
  std::memcpy(&x, p, static_cast<size_t>(count) * sizeof(T));
  return x;
#endif
}
template <typename T>
DVM_ALWAYS_INLINE void store_some(Vec<T> x, void* p, int64_t count) {
#if HWY_TARGET == HWY_AVX3
  const auto bytes = static_cast<uint32_t>(count * int64_t{sizeof(T)});
  _mm512_mask_storeu_epi8(p, _bzhi_u64(~uint64_t{0}, bytes), reinterpret_cast<__m512i>(x));
#else
  std::memcpy(p, &x, static_cast<size_t>(count) * sizeof(T));
#endif
}

// a * b + c, rounded once where the level can.
template <typename T>
DVM_ALWAYS_INLINE Vec<T> mul_add(Vec<T> a, Vec<T> b, Vec<T> c) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (std::is_same_v<T, float>) return _mm512_fmadd_ps(a, b, c);
  if constexpr (std::is_same_v<T, double>) return _mm512_fmadd_pd(a, b, c);
#elif HWY_TARGET == HWY_AVX2
  if constexpr (std::is_same_v<T, float>) return _mm256_fmadd_ps(a, b, c);
  if constexpr (std::is_same_v<T, double>) return _mm256_fmadd_pd(a, b, c);
#endif
  return a * b + c;
}

}  // namespace dvm::cpu::HWY_NAMESPACE::matmul
HWY_AFTER_NAMESPACE();

#endif
