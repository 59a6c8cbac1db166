// floor_divide, remainder, fmod and reciprocal of integers, by way of floats: there is no SIMD
// division of integers. The dividend times the inverse of the divisor, which one loop makes for all
// ops and a scalar needs but once, is nowhere near a whole number but where it is one. So half an
// inverse more lies between the quotient, rounded down, and the next, by more than any rounding
// error. A block of i64 or u64 that f64 does not hold is divided one by one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elementwise/division_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include <algorithm>

#include "core/ops/scalar_ops.h"
#include "cpu/elementwise/elementwise-inl.h"

#if DVM_LEVEL_IS_HERE

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

// What quotients of T are computed in.
template <typename T>
using Quotient = std::conditional_t<sizeof(T) <= 2, float, double>;
template <typename T>
inline constexpr Quotient<T> kRound = core::math::Format<Quotient<T>>::kRound;

// Whether |x| may be more than 2**49, beyond which errors of f64 are felt.
template <typename T>
DVM_ALWAYS_INLINE uint64_t is_wide(T x) {
  if constexpr (sizeof(T) < 8) return 0;
  const auto bits = static_cast<uint64_t>(x);
  return std::is_signed_v<T> ? (bits ^ bits << 1) >> 50 : bits >> 49;
}

// Integers of 64 bits, which only AVX-512 converts, are the low bits of a number whose ulp is 1.
template <typename T>
DVM_ALWAYS_INLINE Quotient<T> to_quotient(T x) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<double>(static_cast<uint64_t>(x) + std::bit_cast<uint64_t>(kRound<T>)) -
           kRound<T>;
  } else {
    return static_cast<Quotient<T>>(x);
  }
}
// Of t - kRound, whose low bits are those of t.
template <typename T>
DVM_ALWAYS_INLINE T from_rounded(Quotient<T> t) {
  return static_cast<T>(core::math::to_bits(t) - core::math::to_bits(kRound<T>));
}

// Words instead of bools from here on: of those GCC 12 makes branches, and no SIMD.
template <typename T>
using Word = std::make_unsigned_t<T>;
template <typename T>
DVM_ALWAYS_INLINE Word<T> ones_if(bool condition) {
  return static_cast<Word<T>>(condition ? -1 : 0);
}

// Rounded down; for fmod, towards zero. Nearest to what is half off that is what is asked for.
template <typename Op, typename T>
DVM_ALWAYS_INLINE Word<T> quotient_of(T dividend, Quotient<T> inverse) {
  using Q = Quotient<T>;
  const Q ratio = to_quotient(dividend) * inverse;
  const Q down = Q{0.5} * core::math::absolute(inverse) - Q{0.5};
  const bool to_zero = std::is_same_v<Op, core::scalar::fmod>;
  const Q back = to_zero ? -core::math::with_sign_of(down, ratio) : down;
  return static_cast<Word<T>>(from_rounded<T>(ratio + back + kRound<T>));
}
// The least number by -1 wraps.
template <typename Op, typename T>
DVM_ALWAYS_INLINE Word<T> divide(T dividend, T divisor, Quotient<T> inverse) {
  using W = Word<T>;
  const W quotient = quotient_of<Op>(dividend, inverse);
  if constexpr (std::is_same_v<Op, core::scalar::floor_divide>) return quotient;
  const auto multiple = static_cast<tile_ops::Unsigned<T>>(quotient) * static_cast<W>(divisor);
  return static_cast<W>(static_cast<W>(dividend) - multiple);
}

// Zero is divided by as 1 is.
template <typename T>
DVM_ALWAYS_INLINE T nonzero(T divisor) {
  return static_cast<T>(static_cast<Word<T>>(divisor) | (ones_if<T>(divisor == 0) & 1));
}
template <typename T>
[[gnu::noinline]] void invert(const T* divisors, Quotient<T>* inverses, int64_t size) {
  for (int64_t i = 0; i < size; ++i) inverses[i] = 1 / to_quotient(nonzero(divisors[i]));
}

// What a block raises, and whether it has to be done again.
struct Seen {
  bool zero, overflow, wide;
};

// Division by zero gives 0. kOne: all are divided by the first of b, and times the first inverse.
template <typename Op, typename T, bool kOne>
[[gnu::noinline]] Seen division_loop(const T* a, const T* b, const Quotient<T>* inverses, T* dst,
                                     int64_t size) {
  constexpr T kLeast = std::is_signed_v<T> ? std::numeric_limits<T>::min() : T{1};
  constexpr bool kOverflows = std::is_signed_v<T> && std::is_same_v<Op, core::scalar::floor_divide>;
  using W = Word<T>;
  W zero = 0, overflow = 0;
  uint64_t wide = 0;
  const T one = *b;
  const Quotient<T> one_inverse = *inverses;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) {
    const T x = a[i], y = kOne ? one : b[i];
    const W none = ones_if<T>(y == 0);
    zero |= none;
    if constexpr (kOverflows) {
      overflow |= static_cast<W>(ones_if<T>(x == kLeast) & ones_if<T>(y == static_cast<T>(-1)));
    }
    wide |= is_wide(x) | is_wide(y);
    const W result = divide<Op>(x, nonzero(y), kOne ? one_inverse : inverses[i]);
    dst[i] = static_cast<T>(result & ~none);
  }
  return {zero != 0, overflow != 0, wide != 0};
}

// Scalars become a block. Results that may have to be computed again, of operands that they would
// replace, are kept aside.
template <typename Op, typename T>
FpFlags division_blocks(const TileArgs& args) {
  constexpr int64_t kBlock = 512;
  constexpr bool kMayBeWide = sizeof(T) == 8;
  T aside[kBlock], scalars[2][kBlock];
  Quotient<T> inverses[kBlock];
  FpFlags raised = 0;
  const bool one = (args.scalar_mask & 2) != 0;
  for (int64_t begin = 0; begin < args.size; begin += kBlock) {
    const int64_t size = std::min(kBlock, args.size - begin);
    const T* x[2];
    for (int k = 0; k < 2; ++k) {
      const auto* src = reinterpret_cast<const T*>(args.src[k]);
      const bool scalar = (args.scalar_mask >> k & 1) != 0;
      if (scalar && begin == 0) std::fill_n(scalars[k], size, *src);
      x[k] = scalar ? scalars[k] : src + begin;
    }
    if (begin == 0 || !one) invert(x[1], inverses, one ? 1 : size);
    auto* const dst = reinterpret_cast<T*>(args.dst) + begin;
    T* const to = kMayBeWide ? aside : dst;
    const Seen seen = one ? division_loop<Op, T, true>(x[0], x[1], inverses, to, size)
                          : division_loop<Op, T, false>(x[0], x[1], inverses, to, size);
    if (seen.zero) raised |= core::kDivideByZero;
    if (seen.overflow) raised |= core::kOverflow;
    if (seen.wide) {
      for (int64_t i = 0; i < size; ++i) dst[i] = Op{}(x[0][i], x[1][i]);
    } else if (kMayBeWide) {
      std::copy_n(aside, size, dst);
    }
  }
  return raised;
}

template <typename Op, DType D>
void division_kernel(const TileArgs& args) noexcept {
  FpFlags raised = 0;
  finish<true>([&] { raised = division_blocks<Op, core::Storage<D>>(args); });
  core::raise(raised);
}

// Nothing but 1 and -1 has a whole one.
template <DType D>
void reciprocal_kernel(const TileArgs& args) noexcept {
  using T = core::Storage<D>;
  const auto loop = [](const TileArgs& some) {
    const auto* src = reinterpret_cast<const T*>(some.src[0]);
    auto* dst = reinterpret_cast<T*>(some.dst);
    Word<T> zero = 0;
    DVM_INDEPENDENT
    for (int64_t i = 0; i < some.size; ++i) {
      const T x = src[i];
      const auto minus = std::is_signed_v<T> ? ones_if<T>(x == static_cast<T>(-1)) : Word<T>{0};
      zero |= ones_if<T>(x == 0);
      dst[i] = static_cast<T>((ones_if<T>(x == 1) & 1) | minus);
    }
    if (zero != 0) core::raise(core::kDivideByZero | core::kInvalid);
  };
  run_unary(args, kUnarySizes<D>, loop);
}

void fill_divisions(KernelTable& table) {
  const auto fill = [&]<DType D>() {
    if constexpr (core::info(D).kind == core::Kind::integer) {
      table.entry(Insn::floor_divide, D) = division_kernel<core::scalar::floor_divide, D>;
      table.entry(Insn::remainder, D) = division_kernel<core::scalar::remainder, D>;
      table.entry(Insn::fmod, D) = division_kernel<core::scalar::fmod, D>;
      table.entry(Insn::reciprocal, D) = reciprocal_kernel<D>;
    }
  };
  for (int d = 0; d < core::kDTypeCount; ++d) core::dispatch(static_cast<DType>(d), fill);
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if DVM_CHOOSES_LEVEL
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_divisions)
}
#endif
