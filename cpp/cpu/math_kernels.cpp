// The functions of core/math_*.h on f32 and f64: quiet loops that gather what the function raises.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/math_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include "cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

using core::math::HasHardArguments;
using core::math::MathFlags;

template <typename Op, typename T>
[[gnu::noinline]] FpFlags math_loop(const TileArgs& args) {
  const auto* a = reinterpret_cast<const T*>(args.src[0]);
  auto* dst = reinterpret_cast<T*>(args.dst);
  const int64_t size = args.size;
  MathFlags<typename Op::Signs, T> raised;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) {
    const T x = a[i];
    raised.note(x);
    dst[i] = Op::template compute<Arithmetic>(x);
  }
  return raised.flags();
}

template <typename Signs, typename T>
[[gnu::noinline]] bool any_hard(const TileArgs& args) {
  const auto* a = reinterpret_cast<const T*>(args.src[0]);
  core::math::Bits<T> hard = 0;
  for (int64_t i = 0; i < args.size; ++i) hard |= Signs::hard(a[i]);
  return hard >> (8 * sizeof(T) - 1) != 0;
}

// Element by element where some are hard. The library's flags count, ours do not.
template <typename Op, typename T>
FpFlags hard_loop(const TileArgs& args) {
  using Signs = typename Op::Signs;
  FpFlags raised = 0;
  TileArgs one = args;
  one.size = 1;
  for (int64_t i = 0; i < args.size; ++i) {
    const T x = reinterpret_cast<const T*>(args.src[0])[i];
    one.src[0] = args.src[0] + i * int64_t{sizeof(T)};
    one.dst = args.dst + i * int64_t{sizeof(T)};
    if (core::math::is_hard<Signs>(x)) {
      const core::WatchFpFlags watch;
      *reinterpret_cast<T*>(one.dst) = Signs::by_library(x);
      raised |= watch.raised();
    } else {
      raised |= math_loop<Op, T>(one);
    }
  }
  return raised;
}

template <typename Op, typename T>
FpFlags run_function(const TileArgs& args) {
  if constexpr (HasHardArguments<typename Op::Signs, T>) {
    if (any_hard<typename Op::Signs, T>(args)) return hard_loop<Op, T>(args);
  }
  return math_loop<Op, T>(args);
}

template <typename Op, DType D>
void math_kernel(const TileArgs& args) noexcept {
  FpFlags raised = 0;
  finish<true>([&] {
    unary<D>(args,
             [&](const TileArgs& some) { raised = run_function<Op, core::Storage<D>>(some); });
  });
  core::raise(raised);
}

template <typename Op>
void fill_function(KernelTable& table, Insn insn) {
  if constexpr (tile_ops::Function<Op>) {
    table.entry(insn, DType::f32) = math_kernel<Op, DType::f32>;
    table.entry(insn, DType::f64) = math_kernel<Op, DType::f64>;
  }
}

void fill_math(KernelTable& table) {
#define DVM_ELEMENTWISE(name, ...) fill_function<tile_ops::name>(table, Insn::name);
#include "core/elementwise.def"
#undef DVM_ELEMENTWISE
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_math)
}
#endif
