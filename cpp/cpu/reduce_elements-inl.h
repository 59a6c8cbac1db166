// What reductions combine with, and the kinds of elements they read, for one SIMD level.
#if defined(DVM_CPU_REDUCE_ELEMENTS) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_REDUCE_ELEMENTS
#undef DVM_CPU_REDUCE_ELEMENTS
#else
#define DVM_CPU_REDUCE_ELEMENTS
#endif

#include <limits>
#include <type_traits>

#include "cpu/elements.h"
#include "cpu/half_blocks-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3
// Two instructions where the compiler makes four of the comparisons and the choice: where x is no
// NaN, the instruction gives the second of two zeros, and y if that is a NaN.
using Floats = float __attribute__((vector_size(64)));
using Doubles = double __attribute__((vector_size(64)));
template <typename T>
inline constexpr bool kIsWholeFloats = std::is_same_v<T, Floats> || std::is_same_v<T, Doubles>;
DVM_ALWAYS_INLINE Floats larger(Floats x, Floats y) {
  return _mm512_mask_max_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), x, y);
}
DVM_ALWAYS_INLINE Doubles larger(Doubles x, Doubles y) {
  return _mm512_mask_max_pd(x, _mm512_cmp_pd_mask(x, x, _CMP_ORD_Q), x, y);
}
DVM_ALWAYS_INLINE Floats smaller(Floats x, Floats y) {
  return _mm512_mask_min_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), x, y);
}
DVM_ALWAYS_INLINE Doubles smaller(Doubles x, Doubles y) {
  return _mm512_mask_min_pd(x, _mm512_cmp_pd_mask(x, x, _CMP_ORD_Q), x, y);
}
#endif

// All take scalars and SIMD vectors alike. A quiet one raises no status flags. Combined with its
// identity, any element stays what it is, to the last bit.
struct Sum {
  static constexpr bool kWraps = true;
  static constexpr bool kQuiet = false;
  static constexpr bool kFromZero = true;  // never -0, as in NumPy
  template <typename T>
  static constexpr T kIdentity = static_cast<T>(-0.0);
  template <typename T>
  DVM_ALWAYS_INLINE static T combine(T x, T y) {
    return x + y;
  }
};
struct Prod {
  static constexpr bool kWraps = true;
  static constexpr bool kQuiet = false;
  static constexpr bool kFromZero = false;
  template <typename T>
  static constexpr T kIdentity{1};
  template <typename T>
  DVM_ALWAYS_INLINE static T combine(T x, T y) {
    return x * y;
  }
};
struct Max {
  static constexpr bool kWraps = false;
  static constexpr bool kQuiet = true;
  static constexpr bool kFromZero = false;
  template <typename T>
  static constexpr T kIdentity = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                                             : std::numeric_limits<T>::lowest();
  template <typename T>
  DVM_ALWAYS_INLINE static T combine(T x, T y) {
#if HWY_TARGET == HWY_AVX3
    if constexpr (kIsWholeFloats<T>) return larger(x, y);
#endif
    return ((x > y) | (x != x)) ? x : y;
  }
};
struct Min {
  static constexpr bool kWraps = false;
  static constexpr bool kQuiet = true;
  static constexpr bool kFromZero = false;
  template <typename T>
  static constexpr T kIdentity = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                                             : std::numeric_limits<T>::max();
  template <typename T>
  DVM_ALWAYS_INLINE static T combine(T x, T y) {
#if HWY_TARGET == HWY_AVX3
    if constexpr (kIsWholeFloats<T>) return smaller(x, y);
#endif
    return ((x < y) | (x != x)) ? x : y;
  }
};

#if HWY_TARGET == HWY_AVX3
constexpr int kVectorBytes = 64;
#elif HWY_TARGET == HWY_AVX2
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// What is reduced: elements of S in memory, accumulated in A. Sums of integers wrap, hence unsigned
// (and one body for both signs).
template <typename A>
struct Plain {
  using Storage = A;
  using Accumulator = A;
  DVM_ALWAYS_INLINE static A load(A x) { return x; }
  DVM_ALWAYS_INLINE static const A* run(const A* p, int64_t, A*) { return p; }
  static A store(A x) { return x; }
};
struct Halves {
  using Storage = uint16_t;
  using Accumulator = float;
  DVM_ALWAYS_INLINE static float load(uint16_t x) { return half_to_float(x); }
  static const float* run(const uint16_t* p, int64_t count, float* room) {
    widen(p, count, room);
    return room;
  }
  static uint16_t store(float x) {
    RoundingFlags<DType::f16> rounding;
    rounding.note(x);
    core::raise(rounding.flags());
    return float_to_half(x);
  }
};

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
