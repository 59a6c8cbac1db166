// What the kinds of products have of their own, for one SIMD level: how elements lie in panels, and
// what one step along k is.
#if defined(DVM_CPU_MATMUL_KINDS) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_MATMUL_KINDS
#undef DVM_CPU_MATMUL_KINDS
#else
#define DVM_CPU_MATMUL_KINDS
#endif

#include <algorithm>

#include "core/ops/half.h"
#include "cpu/matmul/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE::matmul {

// Elements are Stored, and what is added up is Sums. Panels consist of Units, each of which is
// kDepth elements behind each other along k. Every kind has
//   kTilesInPlace                            tiles of rows for which it does not pay to pack B
//   sum(p), sums(p), some_sums(p, count)     the element at p as a Sum; a vector of adjacent ones,
//                                            of which `count` are there
//   unit(p, step, count)                     of elements `step` bytes apart, of which as many are
//   there units_along<bytes>(p)                    of elements that are adjacent along k
//   units_across(p, q)                       of columns: row p, and with kDepth 2 row q behind it
//   some_units_across(p, q, count)
//   step(a, b, c)                            c and the products of Units a and b
//   Packed                                   the kind that does the same with panels, for all kinds
//                                            whose panels are alike
template <typename T>
struct Plain {
  using Stored = T;
  using Unit = T;
  using Sum = T;
  using Packed = Plain;
  static constexpr int kDepth = 1;
  static constexpr bool kConverts = false;
  static constexpr int kTilesInPlace = HWY_TARGET == HWY_AVX3 ? 20 : 10;

  DVM_ALWAYS_INLINE static Sum sum(const std::byte* p) {
    T x;
    std::memcpy(&x, p, sizeof(x));
    return x;
  }
  DVM_ALWAYS_INLINE static Vec<Sum> sums(const std::byte* p) { return load<T>(p); }
  DVM_ALWAYS_INLINE static Vec<Sum> some_sums(const std::byte* p, int64_t count) {
    return load_some<T>(p, count);
  }
  DVM_ALWAYS_INLINE static Unit unit(const std::byte* p, int64_t, int64_t) { return sum(p); }
  template <int kSize>
  DVM_ALWAYS_INLINE static Vec<Unit, kSize> units_along(const std::byte* p) {
    return load<T, kSize>(p);
  }
  DVM_ALWAYS_INLINE static Vec<Unit> units_across(const std::byte* p, const std::byte*) {
    return load<T>(p);
  }
  DVM_ALWAYS_INLINE static Vec<Unit> some_units_across(const std::byte* p, const std::byte*,
                                                       int64_t count) {
    return load_some<T>(p, count);
  }
  DVM_ALWAYS_INLINE static Vec<Sum> step(Vec<Unit> a, Vec<Unit> b, Vec<Sum> c) {
    return mul_add<T>(a, b, c);
  }
};

// Of a vector that is narrower than those of the level.
template <typename To, typename From, int kSize>
DVM_ALWAYS_INLINE Vec<To, kSize> widened(const void* p) {
  constexpr int kFrom = kSize / static_cast<int>(sizeof(To) / sizeof(From));
  return __builtin_convertvector((load<From, kFrom>(p)), Vec<To, kSize>);
}
template <typename To, typename From>
DVM_ALWAYS_INLINE Vec<To> some_widened(const void* p, int64_t count) {
  From some[kLanes<To>] = {};
  std::memcpy(some, p, static_cast<size_t>(count) * sizeof(From));
  return widened<To, From, kBytes>(some);
}

// One after the other, which is much code.
template <core::AnyHalf H>
[[gnu::noinline]] Vec<float, 16> floats_one_by_one(const void* p) {
  uint16_t halves[4];
  std::memcpy(halves, p, sizeof(halves));
  Vec<float, 16> wide{};
  for (int i = 0; i < 4; ++i) wide[i] = core::half_to_float<H>(halves[i]);
  return wide;
}

template <core::AnyHalf H, int kSize>
DVM_ALWAYS_INLINE Vec<float, kSize> floats(const void* p) {
  if constexpr (std::is_same_v<H, core::BFloat16>) {
    return reinterpret_cast<Vec<float, kSize>>(widened<uint32_t, uint16_t, kSize>(p) << 16);
  } else {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
    if constexpr (kSize == 16) {
      return _mm_cvtph_ps(_mm_loadl_epi64(static_cast<const __m128i*>(p)));
    } else if constexpr (kSize == 32) {
      return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(p)));
#if HWY_TARGET == HWY_AVX3
    } else {
      return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
#endif
    }
#else
    return floats_one_by_one<H>(p);
#endif
  }
}

// Halves are multiplied and added as floats.
template <core::AnyHalf H>
struct Halves {
  using Stored = uint16_t;
  using Unit = float;
  using Sum = float;
  using Packed = Plain<float>;
  static constexpr int kDepth = 1;
  static constexpr bool kConverts = true;
  static constexpr int kTilesInPlace = HWY_TARGET == HWY_AVX3 ? 8 : 4;

  DVM_ALWAYS_INLINE static Sum sum(const std::byte* p) {
    uint16_t x;
    std::memcpy(&x, p, sizeof(x));
    return core::half_to_float<H>(x);
  }
  DVM_ALWAYS_INLINE static Vec<Sum> sums(const std::byte* p) { return floats<H, kBytes>(p); }
  DVM_ALWAYS_INLINE static Vec<Sum> some_sums(const std::byte* p, int64_t count) {
    uint16_t some[kLanes<float>] = {};
    std::memcpy(some, p, static_cast<size_t>(count) * sizeof(uint16_t));
    return floats<H, kBytes>(some);
  }
  DVM_ALWAYS_INLINE static Unit unit(const std::byte* p, int64_t, int64_t) { return sum(p); }
  template <int kSize>
  DVM_ALWAYS_INLINE static Vec<Unit, kSize> units_along(const std::byte* p) {
    return floats<H, kSize>(p);
  }
  DVM_ALWAYS_INLINE static Vec<Unit> units_across(const std::byte* p, const std::byte*) {
    return sums(p);
  }
  DVM_ALWAYS_INLINE static Vec<Unit> some_units_across(const std::byte* p, const std::byte*,
                                                       int64_t count) {
    return some_sums(p, count);
  }
  DVM_ALWAYS_INLINE static Vec<Sum> step(Vec<Unit> a, Vec<Unit> b, Vec<Sum> c) {
    return mul_add<float>(a, b, c);
  }
};

// Two numbers of 16 bits in a Unit: the first one of k in its lower half.
DVM_ALWAYS_INLINE Vec<uint32_t> paired(Vec<uint32_t> low, Vec<uint32_t> high) {
  return (low & 0xffffu) | high << 16;
}

// Pairs of i8 as i16, whose products fit an i32 with room to add.
struct Bytes {
  using Stored = int8_t;
  using Unit = uint32_t;
  using Sum = uint32_t;
  using Packed = Bytes;
  static constexpr int kDepth = 2;
  static constexpr bool kConverts = true;
  static constexpr int kTilesInPlace = 1;

  DVM_ALWAYS_INLINE static Sum sum(const std::byte* p) {
    return static_cast<Sum>(static_cast<int32_t>(static_cast<int8_t>(*p)));
  }
  DVM_ALWAYS_INLINE static Vec<Sum> sums(const std::byte* p) {
    return reinterpret_cast<Vec<Sum>>(widened<int32_t, int8_t, kBytes>(p));
  }
  DVM_ALWAYS_INLINE static Vec<Sum> some_sums(const std::byte* p, int64_t count) {
    return reinterpret_cast<Vec<Sum>>(some_widened<int32_t, int8_t>(p, count));
  }
  DVM_ALWAYS_INLINE static Unit unit(const std::byte* p, int64_t step, int64_t count) {
    return (sum(p) & 0xffffu) | (count > 1 ? sum(p + step) << 16 : 0);
  }
  template <int kSize>
  DVM_ALWAYS_INLINE static Vec<Unit, kSize> units_along(const std::byte* p) {
    return reinterpret_cast<Vec<Unit, kSize>>(widened<int16_t, int8_t, kSize>(p));
  }
  DVM_ALWAYS_INLINE static Vec<Unit> units_across(const std::byte* p, const std::byte* q) {
    return paired(sums(p), sums(q));
  }
  DVM_ALWAYS_INLINE static Vec<Unit> some_units_across(const std::byte* p, const std::byte* q,
                                                       int64_t count) {
    return paired(some_sums(p, count), some_sums(q, count));
  }
  DVM_ALWAYS_INLINE static Vec<Sum> step(Vec<Unit> a, Vec<Unit> b, Vec<Sum> c) {
#if HWY_TARGET == HWY_AVX3
    return c + reinterpret_cast<Vec<Sum>>(
                   _mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif HWY_TARGET == HWY_AVX2
    return c + reinterpret_cast<Vec<Sum>>(
                   _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
    return c + reinterpret_cast<Vec<Sum>>(
                   _mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
    const auto low = [](Vec<Unit> x) { return reinterpret_cast<Vec<int32_t>>(x << 16) >> 16; };
    const auto high = [](Vec<Unit> x) { return reinterpret_cast<Vec<int32_t>>(x) >> 16; };
    return c + reinterpret_cast<Vec<Sum>>(low(a) * low(b)) +
           reinterpret_cast<Vec<Sum>>(high(a) * high(b));
#endif
  }
};

#if HWY_TARGET == HWY_AVX3

// Instructions that not every processor with AVX-512 has, written as such so that nothing else of
// their extensions is used.
struct BytesByVnni : Bytes {
  using Packed = BytesByVnni;

  DVM_ALWAYS_INLINE static Vec<Sum> step(Vec<Unit> a, Vec<Unit> b, Vec<Sum> c) {
    asm("vpdpwssd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
  }
};

// AMD's take two elements per lane at the rate of floats. Intel's are half as fast as that, so that
// nothing is gained over floats; what is fast there are its tiles of matrices.
inline bool has_fast_pairs() {
  static const bool fast = __builtin_cpu_supports("avx512bf16") && __builtin_cpu_is("amd");
  return fast;
}

// Both products of a pair go into the sum at once, and subnormal numbers are zeros: other bits than
// those of floats.
struct PairsOfBf16 : Halves<core::BFloat16> {
  using Unit = uint32_t;
  using Packed = PairsOfBf16;
  static constexpr int kDepth = 2;

  DVM_ALWAYS_INLINE static Unit unit(const std::byte* p, int64_t step, int64_t count) {
    uint16_t pair[2] = {};
    std::memcpy(&pair[0], p, sizeof(uint16_t));
    if (count > 1) std::memcpy(&pair[1], p + step, sizeof(uint16_t));
    return pair[0] | uint32_t{pair[1]} << 16;
  }
  template <int kSize>
  DVM_ALWAYS_INLINE static Vec<Unit, kSize> units_along(const std::byte* p) {
    return load<Unit, kSize>(p);
  }
  DVM_ALWAYS_INLINE static Vec<Unit> units_across(const std::byte* p, const std::byte* q) {
    return paired(widened<Unit, uint16_t, kBytes>(p), widened<Unit, uint16_t, kBytes>(q));
  }
  DVM_ALWAYS_INLINE static Vec<Unit> some_units_across(const std::byte* p, const std::byte* q,
                                                       int64_t count) {
    return paired(some_widened<Unit, uint16_t>(p, count), some_widened<Unit, uint16_t>(q, count));
  }
  DVM_ALWAYS_INLINE static Vec<Sum> step(Vec<Unit> a, Vec<Unit> b, Vec<Sum> c) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
  }
};

// f32 that become such pairs where they are packed, rounded as the processor rounds: subnormal
// numbers are zeros here, too.
struct RoundedPairs : PairsOfBf16 {
  using Stored = float;
  static constexpr int kTilesInPlace = 2;

  DVM_ALWAYS_INLINE static Sum sum(const std::byte* p) { return Plain<float>::sum(p); }
  DVM_ALWAYS_INLINE static Vec<Sum> sums(const std::byte* p) { return load<float>(p); }
  DVM_ALWAYS_INLINE static Vec<Sum> some_sums(const std::byte* p, int64_t count) {
    return load_some<float>(p, count);
  }
  DVM_ALWAYS_INLINE static Unit unit(const std::byte* p, int64_t step, int64_t count) {
    const __m128 pair = _mm_setr_ps(sum(p), count > 1 ? sum(p + step) : 0, 0, 0);
    __m128i rounded;
    asm("vcvtneps2bf16 %1, %0" : "=v"(rounded) : "v"(pair));
    return static_cast<Unit>(_mm_cvtsi128_si32(rounded));
  }
  template <int kSize>
  DVM_ALWAYS_INLINE static Vec<Unit, kSize> units_along(const std::byte* p) {
    static_assert(kSize == 16);
    __m128i rounded;
    asm("vcvtneps2bf16 %1, %0" : "=v"(rounded) : "v"(load<float, 32>(p)));
    return reinterpret_cast<Vec<Unit, 16>>(rounded);
  }
  DVM_ALWAYS_INLINE static Vec<Unit> units_across(const std::byte* p, const std::byte* q) {
    return paired(rounded(sums(p)), rounded(sums(q)));
  }
  DVM_ALWAYS_INLINE static Vec<Unit> some_units_across(const std::byte* p, const std::byte* q,
                                                       int64_t count) {
    return paired(rounded(some_sums(p, count)), rounded(some_sums(q, count)));
  }

 private:
  DVM_ALWAYS_INLINE static Vec<Unit> rounded(Vec<float> x) {
    __m256i halves;
    asm("vcvtneps2bf16 %1, %0" : "=v"(halves) : "v"(x));
    return reinterpret_cast<Vec<Unit>>(_mm512_cvtepu16_epi32(halves));
  }
};

#endif

}  // namespace dvm::cpu::HWY_NAMESPACE::matmul
HWY_AFTER_NAMESPACE();

#endif
