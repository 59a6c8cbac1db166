// How elements become rows of AMX's tiles: 64 bytes of a line along k (tiles of A), or of 16 lines
// that each have one group of adjacent k (tiles of B). For processors with AMX alone.
#if defined(DVM_CPU_AMX_KINDS) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_AMX_KINDS
#undef DVM_CPU_AMX_KINDS
#else
#define DVM_CPU_AMX_KINDS
#endif

#include <algorithm>

#include "cpu/matmul/amx_registers.h"
#include "cpu/matmul/vectors-inl.h"

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE::amx_kinds {

using matmul::load;
using matmul::load_some;
using matmul::Vec;
using Row = Vec<uint32_t>;

// Elements are Stored, and what is added up is Sums. Every kind has
//   kGroup, kDepth               elements of k in 4 bytes, in a row of a tile
//   kParts                       tiles that elements become
//   kInPlace                     whether tiles of A can be read where elements lie
//   along(p, count, parts)       kDepth elements that are adjacent along k; the first `count`
//   across<whole>(p, step, k, n, parts)  `k` elements of each of `n` adjacent columns, `step` bytes
//                                apart; whole: all of the group, of 16 columns
//   add_products<c, a, b>()
struct Bf16 {
  using Stored = uint16_t;
  using Sum = float;
  static constexpr int kGroup = 2, kDepth = 32, kParts = 1;
  static constexpr bool kInPlace = true;

  DVM_ALWAYS_INLINE static void along(const std::byte* p, int64_t count, Row (&parts)[1]) {
    parts[0] = reinterpret_cast<Row>(load_some<uint16_t>(p, count));
  }
  template <bool kWhole>
  DVM_ALWAYS_INLINE static void across(const std::byte* p, int64_t step, int64_t k, int64_t n,
                                       Row (&parts)[1]) {
    const auto row = [&](int64_t i) {
      if constexpr (kWhole) return reinterpret_cast<__m256i>(load<uint16_t, 32>(p + i * step));
      return _mm512_castsi512_si256(
          reinterpret_cast<__m512i>(load_some<uint16_t>(p + i * step, i < k ? n : 0)));
    };
    parts[0] = paired(_mm512_inserti64x4(_mm512_castsi256_si512(row(0)), row(1), 1));
  }
  // Two rows of 16 halves, one behind the other, as pairs.
  DVM_ALWAYS_INLINE static Row paired(__m512i rows) {
    alignas(64) static constexpr auto kOrder = [] {
      std::array<uint16_t, 32> order{};
      for (uint16_t i = 0; i < 32; ++i) order[i] = static_cast<uint16_t>(i / 2 + i % 2 * 16);
      return order;
    }();
    return reinterpret_cast<Row>(_mm512_permutexvar_epi16(_mm512_load_si512(kOrder.data()), rows));
  }
  template <int kC, int kA, int kB>
  DVM_ALWAYS_INLINE static void add_products() {
    cpu::amx::add_products_of_bf16<kC, kA, kB>();
  }
};

struct Bytes {
  using Stored = int8_t;
  using Sum = uint32_t;
  static constexpr int kGroup = 4, kDepth = 64, kParts = 1;
  static constexpr bool kInPlace = true;

  DVM_ALWAYS_INLINE static void along(const std::byte* p, int64_t count, Row (&parts)[1]) {
    parts[0] = reinterpret_cast<Row>(load_some<int8_t>(p, count));
  }
  template <bool kWhole>
  DVM_ALWAYS_INLINE static void across(const std::byte* p, int64_t step, int64_t k, int64_t n,
                                       Row (&parts)[1]) {
    const auto row = [&](int64_t i) {
      if constexpr (kWhole) return reinterpret_cast<__m128i>(load<int8_t, 16>(p + i * step));
      return _mm512_castsi512_si128(
          reinterpret_cast<__m512i>(load_some<int8_t>(p + i * step, i < k ? n : 0)));
    };
    __m512i rows = _mm512_castsi128_si512(row(0));
    rows = _mm512_inserti32x4(rows, row(1), 1);
    rows = _mm512_inserti32x4(rows, row(2), 2);
    rows = _mm512_inserti32x4(rows, row(3), 3);
    // Four columns of each row side by side, then the bytes of a column.
    const __m512i columns = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i bytes =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    parts[0] =
        reinterpret_cast<Row>(_mm512_shuffle_epi8(_mm512_permutexvar_epi32(columns, rows), bytes));
  }
  template <int kC, int kA, int kB>
  DVM_ALWAYS_INLINE static void add_products() {
    cpu::amx::add_products_of_i8<kC, kA, kB>();
  }
};

// Nearest bf16, ties to even, of first `low` and then `high`; subnormal numbers are zeros.
DVM_ALWAYS_INLINE __m512i rounded(Vec<float> low, Vec<float> high) {
  __m512i halves;
  asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(halves) : "v"(low), "v"(high));
  return halves;
}

// f32 that become one bf16.
struct Rounded : Bf16 {
  using Stored = float;
  static constexpr bool kInPlace = false;

  DVM_ALWAYS_INLINE static void along(const std::byte* p, int64_t count, Row (&parts)[1]) {
    parts[0] = reinterpret_cast<Row>(rounded(some(p, count), some(p + 64, count - 16)));
  }
  template <bool kWhole>
  DVM_ALWAYS_INLINE static void across(const std::byte* p, int64_t step, int64_t k, int64_t n,
                                       Row (&parts)[1]) {
    parts[0] = paired(rounded(some<kWhole>(p, n), some<kWhole>(p + step, k > 1 ? n : 0)));
  }
  template <bool kWhole = false>
  DVM_ALWAYS_INLINE static Vec<float> some(const std::byte* p, int64_t count) {
    if constexpr (kWhole) return load<float>(p);
    return load_some<float>(p, std::clamp<int64_t>(count, 0, 16));
  }
};

// f32 that become two: what is nearest, and what is nearest to the rest. Numbers between the
// greatest bf16 and infinity have that bf16 for the first; of infinities and NaN the rest is zero.
struct Split : Rounded {
  static constexpr int kParts = 2;

  DVM_ALWAYS_INLINE static void along(const std::byte* p, int64_t count, Row (&parts)[2]) {
    const Halves both = split(some(p, count), some(p + 64, count - 16));
    parts[0] = reinterpret_cast<Row>(both.near);
    parts[1] = reinterpret_cast<Row>(both.rest);
  }
  template <bool kWhole>
  DVM_ALWAYS_INLINE static void across(const std::byte* p, int64_t step, int64_t k, int64_t n,
                                       Row (&parts)[2]) {
    const Halves both = split(some<kWhole>(p, n), some<kWhole>(p + step, k > 1 ? n : 0));
    parts[0] = paired(both.near);
    parts[1] = paired(both.rest);
  }

 private:
  struct Halves {
    __m512i near, rest;
  };
  DVM_ALWAYS_INLINE static Halves split(Vec<float> low, Vec<float> high) {
    const __m512i near = rounded(within(low), within(high));
    const auto floats = [](__m256i halves) {
      return reinterpret_cast<Vec<float>>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
    };
    const Vec<float> low_rest = rest(low, floats(_mm512_castsi512_si256(near)));
    const Vec<float> high_rest = rest(high, floats(_mm512_extracti64x4_epi64(near, 1)));
    return {near, rounded(low_rest, high_rest)};
  }
  static constexpr uint32_t kInfinity = 0x7f800000, kGreatest = 0x7f7f0000, kSign = 0x80000000;
  DVM_ALWAYS_INLINE static Vec<float> within(Vec<float> x) {
    const Row bits = reinterpret_cast<Row>(x), size = bits & ~kSign;
    const auto between = size > kGreatest & size < kInfinity;
    return reinterpret_cast<Vec<float>>(between ? (bits & kSign) | kGreatest : bits);
  }
  // No arithmetic on what is not finite, which would raise `invalid`.
  DVM_ALWAYS_INLINE static Vec<float> rest(Vec<float> x, Vec<float> near) {
    const Row bits = reinterpret_cast<Row>(x);
    const auto finite = (bits & ~kSign) < kInfinity;
    const Row none{};
    return reinterpret_cast<Vec<float>>(finite ? bits : none) -
           reinterpret_cast<Vec<float>>(finite ? reinterpret_cast<Row>(near) : none);
  }
};

}  // namespace dvm::cpu::HWY_NAMESPACE::amx_kinds
HWY_AFTER_NAMESPACE();

#endif

#endif
