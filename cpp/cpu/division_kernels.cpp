// floor_divide, remainder, fmod and reciprocal of integers, by way of floats: there is no SIMD
// division of integers. The dividend times the inverse of the divisor, which one loop makes for all
// ops and a scalar needs but once, is less than half off the quotient. So the whole number nearest
// to it may be one off what is asked for, which the sign of the rest shows. A block of i64 or u64
// that f64 does not hold is divided one by one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/division_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include <algorithm>

#include "core/scalar_ops.h"
#include "cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

// What quotients of T are computed in.
template <typename T>
using Quotient = std::conditional_t<sizeof(T) <= 2, float, double>;
template <typename T>
inline constexpr Quotient<T> kRound = core::math::Format<Quotient<T>>::kRound;

// Whether |x| may be more than 2**51.
template <typename T>
DVM_ALWAYS_INLINE uint64_t is_wide(T x) {
  if constexpr (sizeof(T) < 8) return 0;
  const auto bits = static_cast<uint64_t>(x);
  return std::is_signed_v<T> ? (bits ^ bits << 1) >> 52 : bits >> 51;
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
// Of t - kRound.
template <typename T>
DVM_ALWAYS_INLINE T from_rounded(Quotient<T> t) {
  if constexpr (sizeof(T) == 8) {
    return static_cast<T>(std::bit_cast<uint64_t>(t) - std::bit_cast<uint64_t>(kRound<T>));
  } else {
    using Via = std::conditional_t<std::is_same_v<T, uint32_t>, int64_t, int32_t>;
    return static_cast<T>(static_cast<Via>(t - kRound<T>));
  }
}

// Words instead of bools from here on: of those GCC 12 makes branches, and no SIMD.
template <typename T>
using Word = std::make_unsigned_t<T>;
template <typename T>
DVM_ALWAYS_INLINE Word<T> all_if(bool condition) {
  return static_cast<Word<T>>(condition ? -1 : 0);
}
template <typename T>
DVM_ALWAYS_INLINE Word<T> all_if_negative(Word<T> x) {
  return static_cast<Word<T>>(static_cast<std::make_signed_t<T>>(x) >> (8 * sizeof(T) - 1));
}

template <typename Op, typename T>
DVM_ALWAYS_INLINE T divide(T dividend, T divisor, Quotient<T> inverse) {
  using W = Word<T>;
  constexpr bool kSigned = std::is_signed_v<T>;
  const auto a = static_cast<W>(dividend), b = static_cast<W>(divisor);
  const auto nearest = static_cast<W>(from_rounded<T>(to_quotient(dividend) * inverse + kRound<T>));
  const W rest = static_cast<W>(a - static_cast<tile_ops::Unsigned<T>>(nearest) * b);
  // The rest is asked to have this one's sign. At most half of b, it is negative if unsigned, too.
  const W like = std::is_same_v<Op, core::scalar::fmod> ? a : b;
  const W nonzero = static_cast<W>(rest | (0 - rest));
  const W apart = all_if_negative<T>(kSigned ? static_cast<W>((rest ^ like) & nonzero) : rest);
  if constexpr (std::is_same_v<Op, core::scalar::floor_divide>) {
    return static_cast<T>(nearest + apart);
  } else {
    // |b| with the sign of `like`, which is b itself for a remainder.
    const W minus = kSigned ? all_if_negative<T>(static_cast<W>(like ^ b)) : W{0};
    const W back = static_cast<W>((b ^ minus) - minus);
    return static_cast<T>(rest + (back & apart));
  }
}

// Zero is divided by as 1 is.
template <typename T>
DVM_ALWAYS_INLINE T nonzero(T divisor) {
  return static_cast<T>(static_cast<Word<T>>(divisor) | (all_if<T>(divisor == 0) & 1));
}
template <typename T>
[[gnu::noinline]] void invert(const T* divisors, Quotient<T>* inverses, int64_t size) {
  for (int64_t i = 0; i < size; ++i) inverses[i] = 1 / to_quotient(nonzero(divisors[i]));
}

// What a block raises, and whether it has to be done again.
struct Seen {
  bool zero, overflow, wide;
};

// Division by zero gives 0. Of the least number by -1, which wraps, 0 is divided.
template <typename Op, typename T>
[[gnu::noinline]] Seen division_loop(const T* a, const T* b, const Quotient<T>* inverses, T* dst,
                                     int64_t size) {
  constexpr T kLeast = std::is_signed_v<T> ? std::numeric_limits<T>::min() : T{1};
  constexpr bool kIsQuotient = std::is_same_v<Op, core::scalar::floor_divide>;
  using W = Word<T>;
  W zero = 0, overflow = 0;
  uint64_t wide = 0;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) {
    const T x = a[i], y = b[i];
    const W none = all_if<T>(y == 0);
    const W wraps = std::is_signed_v<T> ? static_cast<W>(all_if<T>(x == kLeast) &
                                                         all_if<T>(y == static_cast<T>(-1)))
                                        : W{0};
    zero |= none, overflow |= wraps;
    wide |= is_wide(x) | is_wide(y);
    const T dividend = static_cast<T>(static_cast<W>(x) & ~wraps);
    const auto result = static_cast<W>(divide<Op>(dividend, nonzero(y), inverses[i]));
    const W wrapped = kIsQuotient ? static_cast<W>(wraps & static_cast<W>(x)) : W{0};
    dst[i] = static_cast<T>((result & ~none) | wrapped);
  }
  return {zero != 0, overflow != 0, wide != 0};
}

// Results that would replace operands are kept aside, and scalars become a block.
template <typename Op, typename T>
FpFlags division_blocks(const TileArgs& args) {
  constexpr int64_t kBlock = 512;
  constexpr bool kOverflows = std::is_same_v<Op, core::scalar::floor_divide>;
  T aside[kBlock], scalars[2][kBlock];
  Quotient<T> inverses[kBlock];
  FpFlags raised = 0;
  for (int64_t begin = 0; begin < args.size; begin += kBlock) {
    const int64_t size = std::min(kBlock, args.size - begin);
    const T* x[2];
    for (int k = 0; k < 2; ++k) {
      const auto* src = reinterpret_cast<const T*>(args.src[k]);
      const bool scalar = (args.scalar_mask >> k & 1) != 0;
      if (scalar && begin == 0) std::fill_n(scalars[k], size, *src);
      x[k] = scalar ? scalars[k] : src + begin;
    }
    if (begin == 0 || (args.scalar_mask & 2) == 0) invert(x[1], inverses, size);
    const Seen seen = division_loop<Op>(x[0], x[1], inverses, aside, size);
    if (seen.zero) raised |= core::kDivideByZero;
    if (kOverflows && seen.overflow) raised |= core::kOverflow;
    auto* dst = reinterpret_cast<T*>(args.dst) + begin;
    if (seen.wide) {
      for (int64_t i = 0; i < size; ++i) dst[i] = Op{}(x[0][i], x[1][i]);
    } else {
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
      const auto minus = std::is_signed_v<T> ? all_if<T>(x == static_cast<T>(-1)) : Word<T>{0};
      zero |= all_if<T>(x == 0);
      dst[i] = static_cast<T>((all_if<T>(x == 1) & 1) | minus);
    }
    if (zero != 0) core::raise(core::kDivideByZero | core::kInvalid);
  };
  unary<D>(args, loop);
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

#if HWY_ONCE
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_divisions)
}
#endif
