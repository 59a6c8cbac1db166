// Vectors as wide as a SIMD level has them, whole or in part, for products of matrices.
#if defined(DVM_CPU_MATMUL_VECTORS) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_MATMUL_VECTORS
#undef DVM_CPU_MATMUL_VECTORS
#else
#define DVM_CPU_MATMUL_VECTORS
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

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

// Lanes [from, to) of a vector, either of which may lie beyond it: loads and stores that touch no
// other byte.
template <typename T>
class SomeLanes {
 public:
  SomeLanes() : SomeLanes(0, 0) {}
  SomeLanes(int64_t from, int64_t to) {
    constexpr int64_t kLast = kLanes<T>;
    from = std::clamp<int64_t>(from, 0, kLast);
    to = std::clamp<int64_t>(to, from, kLast);
#if HWY_TARGET == HWY_AVX3
    mask_ = static_cast<__mmask16>((1u << to) - (1u << from));
#elif HWY_TARGET == HWY_AVX2
    for (int64_t i = 0; i < kLast; ++i) mask_[i] = i >= from && i < to ? -1 : 0;
#else
    from_ = from;
    count_ = to - from;
#endif
  }
  // Zeros in the other lanes.
  DVM_ALWAYS_INLINE Vec<T> load(const std::byte* p) const {
#if HWY_TARGET == HWY_AVX3
    if constexpr (std::is_same_v<T, float>) {
      return _mm512_maskz_loadu_ps(mask_, p);
    } else {
      return _mm512_maskz_loadu_pd(static_cast<__mmask8>(mask_), p);
    }
#elif HWY_TARGET == HWY_AVX2
    const auto mask = reinterpret_cast<__m256i>(mask_);
    if constexpr (std::is_same_v<T, float>) {
      return _mm256_maskload_ps(reinterpret_cast<const float*>(p), mask);
    } else {
      return _mm256_maskload_pd(reinterpret_cast<const double*>(p), mask);
    }
#else
    Vec<T> x{};
    std::memcpy(reinterpret_cast<std::byte*>(&x) + from_ * int64_t{sizeof(T)},
                p + from_ * int64_t{sizeof(T)}, static_cast<size_t>(count_) * sizeof(T));
    return x;
#endif
  }
  DVM_ALWAYS_INLINE void store(Vec<T> x, std::byte* p) const {
#if HWY_TARGET == HWY_AVX3
    if constexpr (std::is_same_v<T, float>) {
      _mm512_mask_storeu_ps(p, mask_, x);
    } else {
      _mm512_mask_storeu_pd(p, static_cast<__mmask8>(mask_), x);
    }
#elif HWY_TARGET == HWY_AVX2
    const auto mask = reinterpret_cast<__m256i>(mask_);
    if constexpr (std::is_same_v<T, float>) {
      _mm256_maskstore_ps(reinterpret_cast<float*>(p), mask, x);
    } else {
      _mm256_maskstore_pd(reinterpret_cast<double*>(p), mask, x);
    }
#else
    std::memcpy(p + from_ * int64_t{sizeof(T)},
                reinterpret_cast<const std::byte*>(&x) + from_ * int64_t{sizeof(T)},
                static_cast<size_t>(count_) * sizeof(T));
#endif
  }

 private:
  static_assert(std::is_floating_point_v<T>);
#if HWY_TARGET == HWY_AVX3
  __mmask16 mask_;
#elif HWY_TARGET == HWY_AVX2
  Vec<std::conditional_t<sizeof(T) == 4, int32_t, int64_t>> mask_;
#else
  int64_t from_, count_;
#endif
};

// Lanes kFirst, kFirst + kStep .. of two vectors, one behind the other; behind the last one it
// begins again with the first.
template <int kFirst, int kStep, typename V>
DVM_ALWAYS_INLINE V chosen_lanes(V low, V high) {
  constexpr int kCount = sizeof(V) / sizeof(low[0]);
  return [&]<int... kLane>(std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(low, high, ((kFirst + kStep * kLane) % (2 * kCount))...);
  }
  (std::make_integer_sequence<int, kCount>());
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
