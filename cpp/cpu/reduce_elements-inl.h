// What reductions combine with, and the kinds of elements they read, for one SIMD level.
#if defined(DVM_CPU_REDUCE_ELEMENTS) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_REDUCE_ELEMENTS
#undef DVM_CPU_REDUCE_ELEMENTS
#else
#define DVM_CPU_REDUCE_ELEMENTS
#endif

#include "cpu/elements.h"
#include "cpu/half_blocks-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

// All take scalars and SIMD vectors alike. A quiet one raises no status flags.
struct Sum {
  static constexpr bool kWraps = true;
  static constexpr bool kQuiet = false;
  static constexpr bool kFromZero = true;  // never -0, as in NumPy
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
  DVM_ALWAYS_INLINE static T combine(T x, T y) {
    return x * y;
  }
};
struct Max {
  static constexpr bool kWraps = false;
  static constexpr bool kQuiet = true;
  static constexpr bool kFromZero = false;
  template <typename T>
  DVM_ALWAYS_INLINE static T combine(T x, T y) {
    return ((x > y) | (x != x)) ? x : y;
  }
};
struct Min {
  static constexpr bool kWraps = false;
  static constexpr bool kQuiet = true;
  static constexpr bool kFromZero = false;
  template <typename T>
  DVM_ALWAYS_INLINE static T combine(T x, T y) {
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
struct Bool {
  using Storage = uint8_t;
  using Accumulator = uint8_t;
  DVM_ALWAYS_INLINE static uint8_t load(uint8_t x) { return x != 0; }
  static const uint8_t* run(const uint8_t* p, int64_t count, uint8_t* room) {
    for (int64_t i = 0; i < count; ++i) room[i] = load(p[i]);
    return room;
  }
  static uint8_t store(uint8_t x) { return x; }
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
