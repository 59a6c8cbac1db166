// Casts between every pair of dtypes. Float to integer truncates, saturates, and takes NaN to 0;
// integers wrap; to bool is != 0.
#include <limits>
#include <type_traits>

#include "cpu/elements.h"
#include "cpu/kernels.h"

namespace dvm::cpu {

namespace {

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

template <DType To, DType From, bool kScalar>
void cast_loop(const TileArgs& args) {
  const Source<From, kScalar> a(args.src[0]);
  auto* dst = reinterpret_cast<typename Element<To>::Storage*>(args.dst);
  const int64_t size = args.size;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) dst[i] = convert<To, From>(a[i]);
}

template <DType To>
void cast_kernel(const TileArgs& args) noexcept {
  core::dispatch(static_cast<DType>(args.aux), [&]<DType From>() {
    args.scalar_mask ? cast_loop<To, From, true>(args) : cast_loop<To, From, false>(args);
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
