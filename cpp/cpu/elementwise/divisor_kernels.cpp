// gcd and lcm of integers by Euclid's algorithm, a step of all numbers of a block at a time until
// no number is left that another would divide. Rests are of the nearest multiple, which are exact
// as floats and at most half of the divisor. A block of i64 or u64 that f64 does not hold is
// computed one by one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elementwise/divisor_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include <algorithm>

#include "core/ops/scalar_ops.h"
#include "cpu/elementwise/elementwise-inl.h"

#if DVM_LEVEL_IS_HERE

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

using core::math::Bits;
using core::math::Format;
using core::math::to_bits;

// Small, since its slowest element decides how many steps are made.
constexpr int64_t kNumbers = 128;

// What the magnitudes of T are computed in.
template <typename T>
using Real = std::conditional_t<sizeof(T) <= 2, float, double>;

// Magnitudes below 2**51 (or 2**22) are the low bits of a number whose ulp is 1.
template <typename R, typename U>
DVM_ALWAYS_INLINE R to_real(U magnitude) {
  constexpr R kRound = Format<R>::kRound;
  return std::bit_cast<R>(static_cast<Bits<R>>(magnitude + to_bits(kRound))) - kRound;
}
template <typename U, typename R>
DVM_ALWAYS_INLINE U from_real(R x) {
  return static_cast<U>(to_bits(x + Format<R>::kRound) - to_bits(Format<R>::kRound));
}

// The magnitudes of a block, of which the second may repeat; whether one is wide.
template <typename T>
[[gnu::noinline]] bool load(const T* src, bool repeat, Real<T>* magnitudes, int64_t size) {
  using U = std::make_unsigned_t<T>;
  U seen = 0;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) {
    const auto x = static_cast<U>(tile_ops::magnitude(src[repeat ? 0 : i]));
    seen |= x;
    magnitudes[i] = to_real<Real<T>>(x);
  }
  return sizeof(T) == 8 && static_cast<uint64_t>(seen) >> 51 != 0;
}

// (x, y) becomes (y, rest of x), or stays (x, 0).
template <typename R>
DVM_ALWAYS_INLINE void step(R& x, R& y) {
  constexpr R kRound = Format<R>::kRound;
  const bool done = y == 0;
  const R divisor = done ? R{1} : y;
  const R quotient = (x / divisor + kRound) - kRound;
  y = core::math::absolute(x - quotient * divisor);
  x = done ? x : divisor;
}

template <int kSteps, typename R>
[[gnu::noinline]] bool steps(R* x, R* y, int64_t size) {
  Bits<R> left = 0;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) {
    R a = x[i], b = y[i];
    for (int k = 0; k < kSteps; ++k) step(a, b);
    x[i] = a;
    y[i] = b;
    left |= to_bits(b);
  }
  return left != 0;
}

template <typename R, typename U>
[[gnu::noinline]] void store(const R* divisors, U* dst, int64_t size) {
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) dst[i] = from_real<U>(divisors[i]);
}
// a / divisor * b
template <typename R, typename U>
[[gnu::noinline]] void store_multiples(const R* divisors, const R* a, const R* b, U* dst,
                                       int64_t size) {
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) {
    const R divisor = divisors[i] == 0 ? R{1} : divisors[i];
    const auto factor = from_real<U>(a[i] / divisor);
    dst[i] = static_cast<U>(tile_ops::Unsigned<U>{factor} * from_real<U>(b[i]));
  }
}

template <typename Op, typename T>
void divisor_block(const T* a, const T* b, uint8_t scalar_mask, T* dst, int64_t size) {
  using R = Real<T>;
  using U = std::make_unsigned_t<T>;
  alignas(64) R x[kNumbers], y[kNumbers], factors[2][kNumbers];
  // Divisors so far, of folds, come first and are small: one step may be enough to see that.
  const bool wide_a = load(a, (scalar_mask & 1) != 0, y, size);
  const bool wide_b = load(b, (scalar_mask & 2) != 0, x, size);
  if (wide_a || wide_b) {
    const auto one = [&](int64_t i) {
      return Op{}(a[scalar_mask & 1 ? 0 : i], b[scalar_mask & 2 ? 0 : i]);
    };
    for (int64_t i = 0; i < size; ++i) dst[i] = one(i);
    return;
  }
  constexpr bool kMultiple = std::is_same_v<Op, core::scalar::lcm>;
  if constexpr (kMultiple) {
    std::copy_n(x, size, factors[0]);
    std::copy_n(y, size, factors[1]);
  }
  bool left = steps<1>(x, y, size);
  while (left) left = steps<2>(x, y, size);
  auto* const to = reinterpret_cast<U*>(dst);
  if constexpr (kMultiple) {
    store_multiples(x, factors[0], factors[1], to, size);
  } else {
    store(x, to, size);
  }
}

template <typename Op, DType D>
void divisor_kernel(const TileArgs& args) noexcept {
  using T = core::Storage<D>;
  finish<true>([&] {
    for (int64_t begin = 0; begin < args.size; begin += kNumbers) {
      const auto source = [&](int k) {
        return reinterpret_cast<const T*>(args.src[k]) + (args.scalar_mask >> k & 1 ? 0 : begin);
      };
      divisor_block<Op>(source(0), source(1), args.scalar_mask,
                        reinterpret_cast<T*>(args.dst) + begin,
                        std::min(kNumbers, args.size - begin));
    }
  });
}

void fill_divisors(KernelTable& table) {
  const auto fill = [&]<DType D>() {
    if constexpr (core::info(D).kind == core::Kind::integer) {
      table.entry(Insn::gcd, D) = divisor_kernel<core::scalar::gcd, D>;
      table.entry(Insn::lcm, D) = divisor_kernel<core::scalar::lcm, D>;
    }
  };
  for (int d = 0; d < core::kDTypeCount; ++d) core::dispatch(static_cast<DType>(d), fill);
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if DVM_CHOOSES_LEVEL
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_divisors)
}
#endif
