// Casts between every pair of dtypes, with the meaning of scalar::cast. A float beyond the integer
// it goes through raises `invalid`: a block of floats is truncated as if there were none such, and
// done again where the flag says that there was, in it or in one before. What raises it is rare,
// and the call is given up.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/move/cast_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/ops/scalar_ops.h"
#include "cpu/elementwise/half_blocks-inl.h"
#include "cpu/elementwise/same_bits.h"
#include "cpu/move/elements.h"

#if DVM_LEVEL_IS_HERE

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

using core::FpFlags;
using vm::Insn;
using vm::TileArgs;

template <DType To, DType From>
DVM_ALWAYS_INLINE typename Element<To>::Storage convert(typename Element<From>::Compute x) {
  using T = typename Element<To>::Storage;
  using F = decltype(x);
  if constexpr (To == DType::boolean) {
    return x != F{0};
  } else if constexpr (From == DType::boolean) {
    return static_cast<T>(static_cast<int32_t>(x));  // of bools GCC 12 makes floats one by one
  } else if constexpr (std::is_floating_point_v<F> && std::is_integral_v<T>) {
    using Range = core::scalar::Truncation<T, F>;
    if constexpr (Range::kWideUnsigned) {
      return core::scalar::cast<T>(x);
    } else {
      // Selects instead of branches. Clamped first, so that the conversion itself is defined.
      using Limits = std::numeric_limits<typename Range::Signed>;
      const bool inside = x >= Range::kLow && x < Range::kEnd;
      const auto truncated = static_cast<typename Range::Signed>(inside ? x : F{0});
      const auto high = x >= Range::kEnd ? Limits::max() : truncated;
      return static_cast<T>(x < Range::kLow ? Limits::min() : high);
    }
  } else {
    return static_cast<T>(x);
  }
}

template <DType To, DType From>
inline constexpr bool kTruncates = core::is_floating(From) && core::info(To).kind
                                                                  == core::Kind::integer;

template <DType To, DType From>
DVM_ALWAYS_INLINE bool fits(typename Element<From>::Compute x) {
  if constexpr (kTruncates<To, From>) {
    using Range = core::scalar::Truncation<typename Element<To>::Storage, decltype(x)>;
    return x >= Range::kLow && x < Range::kEnd;
  } else {
    return true;
  }
}

template <DType To, DType From>
[[gnu::noinline]] FpFlags cast_loop(const TileArgs& args, int64_t size) {
  const Source<From, false> a(args.src[0]);
  auto* dst = reinterpret_cast<typename Element<To>::Storage*>(args.dst);
  uint32_t outside = 0;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) {
    const auto x = a[i];
    outside |= !fits<To, From>(x);
    dst[i] = convert<To, From>(x);
  }
  return static_cast<FpFlags>(outside ? core::kInvalid : 0);
}

template <typename H, DType From>
[[gnu::noinline]] void floats_before_halves(const typename Element<From>::Storage* src,
                                            int64_t count, float* dst) {
  DVM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) dst[i] = core::before_half<H>(Element<From>::load(src[i]));
}

// Halves have conversions of their own, which raise what they raise.
template <DType To, DType From>
FpFlags cast_run(const TileArgs& args, int64_t size) {
  using H = core::Storage<To>;
  using G = core::Storage<From>;
  if constexpr (!core::is_half(To) && !(core::is_half(From) && To == core::computes_in(From))) {
    return cast_loop<To, From>(args, size);
  } else {
    const auto* src = reinterpret_cast<const typename Element<From>::Storage*>(args.src[0]);
    auto* dst = reinterpret_cast<typename Element<To>::Storage*>(args.dst);
    if constexpr (To == From) {
      std::memmove(dst, src, static_cast<size_t>(size) * sizeof(*dst));
    } else if constexpr (!core::is_half(To)) {
      widen<G>(src, size, dst);
    } else if constexpr (From == core::computes_in(To)) {
      narrow<H>(src, size, dst);
    } else {
      constexpr int64_t kBlock = 512;
      float floats[kBlock];
      for (int64_t begin = 0; begin < size; begin += kBlock) {
        const int64_t count = std::min(kBlock, size - begin);
        if constexpr (core::is_half(From)) {
          widen<G>(src + begin, count, floats);
        } else {
          floats_before_halves<H, From>(src + begin, count, floats);
        }
        narrow<H>(floats, count, dst + begin);
      }
    }
    return 0;
  }
}

// Signs that make no difference: of an integer that is asked whether it is 0, or cut; of one that
// is made by cutting or widening another, or by way of i32.
template <DType To, DType From>
inline constexpr DType kFrom = To == DType::boolean ||
                                       (core::info(To).kind == core::Kind::integer &&
                                        byte_size(To) <= byte_size(From))
                                   ? unsigned_of(From)
                                   : From;
template <DType To, DType From>
inline constexpr DType kTo = core::is_floating(From) && byte_size(To) >= 4 ? To : unsigned_of(To);

constexpr int64_t kTruncated = 2048;

// By way of a signed integer. Of an element that is none which it holds the result is undefined,
// and the hardware raises `invalid`.
template <typename T, typename F>
[[gnu::noinline]] void truncate_ordinary(const F* src, int64_t count, T* dst) {
  using Signed = typename core::scalar::Truncation<T, F>::Signed;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) dst[i] = static_cast<T>(static_cast<Signed>(src[i]));
}

// A block at a time, kept aside where it replaces its source.
template <DType To, DType From>
FpFlags truncate(const TileArgs& args, int64_t size) {
  using T = typename Element<To>::Storage;
  using F = typename Element<From>::Storage;
  T aside[kTruncated];
  [[maybe_unused]] float widened[kTruncated];
  FpFlags raised = 0;
  const core::WatchFpFlags watch;  // comparisons with NaN raise flags too
  for (int64_t begin = 0; begin < size; begin += kTruncated) {
    const int64_t count = std::min(kTruncated, size - begin);
    TileArgs block = args;
    block.src[0] += begin * int64_t{sizeof(F)};
    block.dst += begin * int64_t{sizeof(T)};
    const auto* src = reinterpret_cast<const F*>(block.src[0]);
    auto* const dst = reinterpret_cast<T*>(block.dst);
    const bool replaces = block.src[0] == block.dst;
    T* const results = replaces ? aside : dst;
    if constexpr (core::is_half(From)) {
      widen<core::Storage<From>>(src, count, widened);
      truncate_ordinary(widened, count, results);
    } else {
      truncate_ordinary(src, count, results);
    }
    if ((watch.raised() & core::kInvalid) != 0) {
      raised |= cast_loop<To, From>(block, count);
    } else if (replaces) {
      std::copy_n(aside, count, dst);
    }
  }
  return raised;
}

// A scalar source is cast once and repeated.
template <DType To>
void cast_kernel(const TileArgs& args) noexcept {
  const int64_t size = args.scalar_mask ? 1 : args.size;
  core::dispatch(static_cast<DType>(args.aux), [&]<DType From>() {
    if constexpr (kTruncates<To, From>) {
      core::raise(truncate<kTo<To, From>, From>(args, size));
    } else {
      core::raise(cast_run<kTo<To, From>, kFrom<To, From>>(args, size));
    }
  });
  auto* dst = reinterpret_cast<typename Element<To>::Storage*>(args.dst);
  if (args.scalar_mask) std::fill_n(dst + 1, args.size - 1, *dst);
}

void fill_cast(vm::KernelTable& table) {
  for (int d = 0; d < core::kDTypeCount; ++d) {
    core::dispatch(static_cast<DType>(d),
                   [&]<DType D>() { table.entry(Insn::cast, D) = cast_kernel<D>; });
  }
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if DVM_CHOOSES_LEVEL
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_cast)
}
#endif
