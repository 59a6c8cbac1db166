// Casts between every pair of dtypes. Float to integer truncates, saturates, and takes NaN to 0;
// integers wrap; to bool is != 0. What does not fit an integer raises `invalid`, which the
// conversion itself never sees.
#include <limits>
#include <type_traits>

#include "cpu/elements.h"
#include "cpu/kernels.h"

namespace dvm::cpu {

namespace {

using core::FpFlags;
using vm::Insn;
using vm::TileArgs;

template <DType To, DType From>
DVM_ALWAYS_INLINE typename Element<To>::Storage convert(typename Element<From>::Compute x) {
  using T = typename Element<To>::Storage;
  using F = decltype(x);
  if constexpr (To == DType::boolean) {
    return x != F{0};
  } else if constexpr (To == DType::f16) {
    // Through float only what float holds exactly: the rest would round twice.
    if constexpr (std::is_same_v<F, float>) return float_to_half(x);
    return core::half_from_double(static_cast<double>(x)).bits;
  } else if constexpr (std::is_floating_point_v<F> && std::is_integral_v<T>) {
    // Selects instead of branches. Clamped first, so that the conversion itself is defined.
    constexpr F kLow = static_cast<F>(std::numeric_limits<T>::min());
    const bool inside = x >= kLow && x < -kLow;
    const T truncated = static_cast<T>(inside ? x : F{0});
    const T high = x >= -kLow ? std::numeric_limits<T>::max() : truncated;
    return x < kLow ? std::numeric_limits<T>::min() : high;
  } else {
    return static_cast<T>(x);
  }
}

template <DType To, DType From>
inline constexpr bool kTruncates = core::is_floating(From) &&
                                   !core::is_floating(To) && To != DType::boolean;

template <DType To, DType From>
DVM_ALWAYS_INLINE bool fits(typename Element<From>::Compute x) {
  if constexpr (kTruncates<To, From>) {
    using F = decltype(x);
    constexpr F kLow = static_cast<F>(std::numeric_limits<typename Element<To>::Storage>::min());
    return x >= kLow && x < -kLow;
  } else {
    return true;
  }
}

template <DType To, DType From, bool kScalar>
[[gnu::noinline]] core::FpFlags cast_loop(const TileArgs& args) {
  const Source<From, kScalar> a(args.src[0]);
  auto* dst = reinterpret_cast<typename Element<To>::Storage*>(args.dst);
  const int64_t size = args.size;
  // Rounding anything but float to half is one out-of-line step, which raises by itself.
  constexpr bool kNotes = To == DType::f16 && From == DType::f32;
  RoundingFlags<To> rounding;
  uint32_t outside = 0;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) {
    const auto x = a[i];
    outside |= !fits<To, From>(x);
    if constexpr (kNotes) rounding.note(x);
    dst[i] = convert<To, From>(x);
  }
  return static_cast<core::FpFlags>(rounding.flags() | (outside ? core::kInvalid : 0));
}

template <DType To>
void cast_kernel(const TileArgs& args) noexcept {
  core::dispatch(static_cast<DType>(args.aux), [&]<DType From>() {
    const auto run = [&] {
      return args.scalar_mask ? cast_loop<To, From, true>(args) : cast_loop<To, From, false>(args);
    };
    if constexpr (kTruncates<To, From>) {
      FpFlags flags = 0;
      {
        const core::KeepFpFlags keep;  // comparisons with NaN raise flags too
        flags = run();
      }
      core::raise(flags);
    } else {
      core::raise(run());
    }
  });
}

}  // namespace

void fill_cast(vm::KernelTable& table) {
  for (int d = 0; d < core::kDTypeCount; ++d) {
    core::dispatch(static_cast<DType>(d),
                   [&]<DType D>() { table.entry(Insn::cast, D) = cast_kernel<D>; });
  }
}

}  // namespace dvm::cpu
