// What reductions combine with, for one SIMD level.
#if defined(DVM_CPU_REDUCE_ELEMENTS) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_REDUCE_ELEMENTS
#undef DVM_CPU_REDUCE_ELEMENTS
#else
#define DVM_CPU_REDUCE_ELEMENTS
#endif

#include <limits>
#include <type_traits>

#include "core/math/basis.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
// Two instructions where the compiler makes four of the comparisons and the choice: where neither
// is NaN, the instruction gives the second of two zeros, and y if any is. Where `test` is NaN, x.
using Floats = float __attribute__((vector_size(64)));
using Doubles = double __attribute__((vector_size(64)));
template <typename T>
inline constexpr bool kIsWholeFloats = std::is_same_v<T, Floats> || std::is_same_v<T, Doubles>;
DVM_ALWAYS_INLINE Floats larger(Floats x, Floats y) { return _mm512_max_ps(x, y); }
DVM_ALWAYS_INLINE Floats larger(Floats x, Floats y, Floats test) {
  return _mm512_mask_max_ps(x, _mm512_cmp_ps_mask(test, test, _CMP_ORD_Q), x, y);
}
DVM_ALWAYS_INLINE Doubles larger(Doubles x, Doubles y) { return _mm512_max_pd(x, y); }
DVM_ALWAYS_INLINE Doubles larger(Doubles x, Doubles y, Doubles test) {
  return _mm512_mask_max_pd(x, _mm512_cmp_pd_mask(test, test, _CMP_ORD_Q), x, y);
}
DVM_ALWAYS_INLINE Floats smaller(Floats x, Floats y) { return _mm512_min_ps(x, y); }
DVM_ALWAYS_INLINE Floats smaller(Floats x, Floats y, Floats test) {
  return _mm512_mask_min_ps(x, _mm512_cmp_ps_mask(test, test, _CMP_ORD_Q), x, y);
}
DVM_ALWAYS_INLINE Doubles smaller(Doubles x, Doubles y) { return _mm512_min_pd(x, y); }
DVM_ALWAYS_INLINE Doubles smaller(Doubles x, Doubles y, Doubles test) {
  return _mm512_mask_min_pd(x, _mm512_cmp_pd_mask(test, test, _CMP_ORD_Q), x, y);
}
// The bits of lanes where neither is NaN, of those that were set.
DVM_ALWAYS_INLINE uint16_t still_ordered(uint16_t lanes, Floats x, Floats y) {
  return _mm512_mask_cmp_ps_mask(lanes, x, y, _CMP_ORD_Q);
}
DVM_ALWAYS_INLINE uint8_t still_ordered(uint8_t lanes, Doubles x, Doubles y) {
  return _mm512_mask_cmp_pd_mask(lanes, x, y, _CMP_ORD_Q);
}
#endif

// Of whole numbers one instruction, which the compiler does not make of the comparison and the
// choice either.
template <typename T>
concept WholeNumbers = HWY_TARGET != HWY_SCALAR && !std::is_arithmetic_v<T> &&
                       std::is_integral_v<std::remove_cvref_t<decltype(T{}[0])>>;
template <WholeNumbers T, typename Best>
DVM_ALWAYS_INLINE T best_of(T x, T y, Best best) {
  using A = std::remove_cvref_t<decltype(x[0])>;
  const hn::FixedTag<A, sizeof(T) / sizeof(A)> tag;
  const auto load = [&](const T& from) {
    return hn::LoadU(tag, reinterpret_cast<const A*>(&from));
  };
  hn::StoreU(best(load(x), load(y)), tag, reinterpret_cast<A*>(&x));
  return x;
}

// All take scalars and SIMD vectors alike. A quiet one raises no status flags. Combined with its
// identity, any element stays what it is, to the last bit.
struct Sum {
  static constexpr bool kWraps = true;
  static constexpr bool kQuiet = false;
  static constexpr bool kFromZero = true;  // never -0, as in NumPy
  static constexpr bool kOfFloats = false;
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
  static constexpr bool kOfFloats = false;
  template <typename T>
  static constexpr T kIdentity{1};
  template <typename T>
  DVM_ALWAYS_INLINE static T combine(T x, T y) {
    return x * y;
  }
};
struct Upwards {
  template <typename T>
  static constexpr T kLeast = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                                          : std::numeric_limits<T>::lowest();
  template <typename T>
  DVM_ALWAYS_INLINE static auto beats(T x, T y) {
    return x > y;
  }
  template <WholeNumbers T>
  DVM_ALWAYS_INLINE static T choose(T x, T y) {
    return best_of(x, y, [](auto a, auto b) { return hn::Max(a, b); });
  }
#if HWY_TARGET == HWY_AVX3
  template <typename... T>
  DVM_ALWAYS_INLINE static auto choose(T... x) {
    return larger(x...);
  }
#endif
};
struct Downwards {
  template <typename T>
  static constexpr T kLeast = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                                          : std::numeric_limits<T>::max();
  template <typename T>
  DVM_ALWAYS_INLINE static auto beats(T x, T y) {
    return x < y;
  }
  template <WholeNumbers T>
  DVM_ALWAYS_INLINE static T choose(T x, T y) {
    return best_of(x, y, [](auto a, auto b) { return hn::Min(a, b); });
  }
#if HWY_TARGET == HWY_AVX3
  template <typename... T>
  DVM_ALWAYS_INLINE static auto choose(T... x) {
    return smaller(x...);
  }
#endif
};

// Of two zeros the second; of two NaNs the first.
template <typename Direction, bool kNanWins>
struct Extreme : Direction {
  static constexpr bool kWraps = false;
  static constexpr bool kQuiet = true;
  static constexpr bool kFromZero = false;
  static constexpr bool kWinsByNan = kNanWins;
  static constexpr bool kOfFloats = !kNanWins;
  template <typename T>
  static constexpr T kIdentity = kNanWins ? Direction::template kLeast<T>
                                          : std::numeric_limits<T>::quiet_NaN();
  template <typename T>
  DVM_ALWAYS_INLINE static T combine(T x, T y) {
    if constexpr (WholeNumbers<T>) return Direction::choose(x, y);
    const T test = kNanWins ? x : y;
#if HWY_TARGET == HWY_AVX3
    if constexpr (kIsWholeFloats<T>) return Direction::choose(x, y, test);
#endif
    return (Direction::beats(x, y) | (test != test)) ? x : y;
  }
};
// Of numbers the same; where one is NaN, the second operand.
template <typename Direction>
struct Closest {
  template <typename T>
  DVM_ALWAYS_INLINE static T combine(T x, T y) {
#if HWY_TARGET == HWY_AVX3
    if constexpr (kIsWholeFloats<T>) return Direction::choose(x, y);
#endif
    return Direction::beats(x, y) ? x : y;
  }
};
using Max = Extreme<Upwards, true>;
using Min = Extreme<Downwards, true>;
using NanMax = Extreme<Upwards, false>;
using NanMin = Extreme<Downwards, false>;

#if HWY_TARGET == HWY_AVX3
constexpr int kVectorBytes = 64;
#elif HWY_TARGET == HWY_AVX2
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
