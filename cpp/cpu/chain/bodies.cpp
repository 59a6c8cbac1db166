// The tables of the assembly text, and the numbers that it takes from the C++ source of functions.
#include "cpu/chain/bodies.h"

#include <bit>
#include <iterator>
#include <limits>

#include "core/math/erf.h"
#include "core/math/hyperbolic.h"
#include "core/math/log.h"
#include "core/math/trig.h"
#include "cpu/kernels.h"

#if defined(__x86_64__) && defined(__ELF__)

namespace dvm::cpu {

namespace {

using core::math::Binary;
using core::math::Bits;
using core::math::ErfTable;
using core::math::ExpTable;
using core::math::Format;
using core::math::LogTable;
using core::math::TanhTable;
using core::math::TrigTable;

template <typename T, size_t kCount>
constexpr T term(const T (&terms)[kCount], size_t i) {
  return i < kCount ? terms[i] : T{0};
}
template <typename L>
constexpr auto log_term(size_t i) {
  if constexpr (requires { L::kQuotient; }) {
    return term(L::kQuotient, i);
  } else {
    return term(L::kSeries, i);
  }
}
// As the bits of a T that has them lowest.
template <typename T>
constexpr T high_word(T x, int32_t add) {
  const Bits<T> high =
      (std::bit_cast<Bits<T>>(x) >> (8 * sizeof(T) - 32)) + static_cast<Bits<T>>(add);
  return std::bit_cast<T>(high);
}

// The highest 32 bits of x, and others below.
template <typename T>
constexpr T word_and_rest(T x, uint32_t rest) {
  if constexpr (sizeof(T) == 4) {
    return x;
  } else {
    return std::bit_cast<T>((std::bit_cast<Bits<T>>(x) >> 32 << 32) | rest);
  }
}

template <typename T>
constexpr Bits<T> doubled(T x) {
  return std::bit_cast<Bits<T>>(x) << 1;
}
// In which the steps of chain_divide.inc are exact where they have to be: what they take away stays
// far from the smallest normal number, and quotients from the largest.
template <typename T>
struct QuotientRange {
  static constexpr bool kSingle = sizeof(T) == 4;
  static constexpr T kLeastDividend = kSingle ? T(0x1p-70) : T(0x1p-800);
  static constexpr T kMostDividend = kSingle ? T(0x1p100) : T(0x1p800);
  static constexpr T kLeastDivisor = kSingle ? T(0x1p-25) : T(0x1p-100);
  static constexpr T kMostDivisor = kSingle ? T(0x1p25) : T(0x1p100);
};

}  // namespace

// Each number as often as it stands in memory: AVX-512 can repeat one that stands there once.
template <typename T, int kTimes>
struct Constants {
#define DVM_CHAIN_CONSTANT(name, value) T name[kTimes];
#include "cpu/chain/constants.def"
#undef DVM_CHAIN_CONSTANT
};

template <typename T, int kTimes>
constexpr Constants<T, kTimes> make_constants() {
  using C = ExpTable<T>;
  using F = Format<T>;
  using L = LogTable<T>;
  using G = TrigTable<T>;
  using E = ErfTable<T>;
  using H = TanhTable<T>;
  using Q = QuotientRange<T>;
  Constants<T, kTimes> made{};
  for (int i = 0; i < kTimes; ++i) {
#define DVM_CHAIN_CONSTANT(name, value) made.name[i] = static_cast<T>(value);
#include "cpu/chain/constants.def"
#undef DVM_CHAIN_CONSTANT
  }
  return made;
}

// Has the plain kernel of a row DVM_CHAIN_IN_PLACE compute what a bank holds.
template <typename T>
void run_kernel(std::byte* bank, uint32_t row, int64_t elements) {
  static constexpr vm::Insn kRows[] = {
#define DVM_CHAIN_IN_PLACE(name, where) vm::Insn::name,
#include "cpu/chain/bodies.def"
  };
  const vm::Instruction insn{.insn = kRows[row],
                             .dtype = sizeof(T) == 4 ? core::DType::f32 : core::DType::f64};
  vm::TileArgs args{};
  args.m = args.n = 1;
  args.size = elements;
  args.dst = bank;
  args.src[0] = bank;
  kernel_table(simd_level())(insn)(args);
}

// NOLINTBEGIN(readability-identifier-naming): names of the assembly text
extern "C" {
[[gnu::visibility("hidden")]] void dvm_chain_kernel_32(std::byte* bank, uint32_t row,
                                                       int64_t elements) noexcept {
  run_kernel<float>(bank, row, elements);
}
[[gnu::visibility("hidden")]] void dvm_chain_kernel_64(std::byte* bank, uint32_t row,
                                                       int64_t elements) noexcept {
  run_kernel<double>(bank, row, elements);
}
}
#define DVM_CHAIN_TEXT(level, width, T, times, raises, block_bytes, lane_banks)                 \
  extern "C" {                                                                                  \
  [[gnu::visibility("hidden")]] extern const int32_t dvm_chain_bodies_##level##_##width[];      \
  [[gnu::visibility("hidden")]] void dvm_chain_run_##level##_##width(const ChainStep*, int64_t, \
                                                                     ChainRowLoop*) noexcept;   \
  [[gnu::visibility("hidden")]] extern const Constants<T, times>                                \
      dvm_chain_constants_##level##_##width;                                                    \
  alignas(64) constinit const Constants<T, times> dvm_chain_constants_##level##_                \
      ##width = make_constants<T, times>();                                                     \
  }                                                                                             \
  static constexpr ChainBodies k_##level##_##width = {dvm_chain_bodies_##level##_##width,       \
                                                      dvm_chain_run_##level##_##width, raises,  \
                                                      block_bytes, lane_banks};
DVM_CHAIN_TEXT(avx512, 32, float, 1, false, 512, 1)
DVM_CHAIN_TEXT(avx512, 64, double, 1, false, 512, 1)
DVM_CHAIN_TEXT(avx2, 32, float, 8, true, 128, 2)
DVM_CHAIN_TEXT(avx2, 64, double, 4, true, 128, 0)
#undef DVM_CHAIN_TEXT
// NOLINTEND(readability-identifier-naming)

const ChainBodies* chain_bodies(SimdLevel level, int width) {
  if (width != sizeof(float) && width != sizeof(double)) return nullptr;
  const bool wide = width == sizeof(double);
  switch (level) {
    case SimdLevel::amx:
    case SimdLevel::avx512:
      return wide ? &k_avx512_64 : &k_avx512_32;
    case SimdLevel::avx2:
      return wide ? &k_avx2_64 : &k_avx2_32;
    default:
      return nullptr;
  }
}

}  // namespace dvm::cpu

#else

namespace dvm::cpu {
const ChainBodies* chain_bodies(SimdLevel, int) { return nullptr; }
}  // namespace dvm::cpu

#endif
