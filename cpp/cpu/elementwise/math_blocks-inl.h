// Functions of core/math_*.h on f32 and f64, for one SIMD level: quiet loops over blocks. The loop
// of a block also asks what `special` or `hard` say of its arguments, and only where one is so more
// is done: a second loop that computes such arguments too and gathers what they raise, or the
// library for each that is hard. Checking first would read the arguments twice. Included inside no
// namespace by files that for_each_level.h compiles, once per level.
#if defined(DVM_CPU_MATH_BLOCKS) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_MATH_BLOCKS
#undef DVM_CPU_MATH_BLOCKS
#else
#define DVM_CPU_MATH_BLOCKS
#endif

#include <algorithm>
#include <utility>

#include "cpu/elementwise/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

namespace math = core::math;
using math::Domain;

constexpr int64_t kMathBlock = 512;

// Arguments of a block, and where its results go; dst is none of the arguments.
template <typename T, int kArity>
struct MathBlock {
  const T* x[kArity];
  T* dst;
  int64_t size;
};

template <typename F, typename T, int kArity>
DVM_ALWAYS_INLINE auto with_arguments(const MathBlock<T, kArity>& block, int64_t i, F f) {
  if constexpr (kArity == 1) {
    return f(block.x[0][i]);
  } else {
    return f(block.x[0][i], block.x[1][i]);
  }
}

// The answers of all arguments, in one word. The pointers come in registers: a struct would be read
// in wider pieces than it was just written in, which waits for the writes.
template <typename Op, typename T, typename... X>
[[gnu::noinline]] math::Bits<T> plain_loop(T* dst, int64_t size, const X*... x) {
  using Signs = typename Op::Signs;
  math::Bits<T> answer = 0;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) {
    if constexpr (math::HasSpecialArguments<Signs, X...>) {
      answer |= Signs::special(x[i]...);
    } else if constexpr (math::HasHardArguments<Signs, X...>) {
      answer |= Signs::hard(x[i]...);
    }
    dst[i] = Op::template compute<Arithmetic, Domain::plain>(x[i]...);
  }
  return answer;
}
template <typename Op, typename T, int kArity>
math::Bits<T> plain_block(const MathBlock<T, kArity>& block) {
  if constexpr (kArity == 1) {
    return plain_loop<Op>(block.dst, block.size, block.x[0]);
  } else {
    return plain_loop<Op>(block.dst, block.size, block.x[0], block.x[1]);
  }
}

// What a block of special arguments raises, and whether some are hard as well.
struct Special {
  FpFlags raised = 0;
  bool hard = false;
};
template <typename Op, typename T, int kArity>
[[gnu::noinline]] Special special_loop(MathBlock<T, kArity> block) {
  using Signs = typename Op::Signs;
  math::MathFlags<Signs, T> raised;
  math::Bits<T> hard = 0;
  T* const dst = block.dst;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < block.size; ++i) {
    dst[i] = with_arguments(block, i, [&](auto... x) {
      raised.note(x...);
      hard |= math::hard_or_none<Signs>(x...);
      return Op::template compute<Arithmetic, Domain::all>(x...);
    });
  }
  return {raised.flags(), math::says_yes<T>(hard)};
}

template <typename Op, typename T, int kArity>
[[gnu::noinline]] void ask_hard(const MathBlock<T, kArity>& block, bool* hard) {
  for (int64_t i = 0; i < block.size; ++i) {
    hard[i] = with_arguments(block, i,
                             [](auto... x) { return math::says_yes<T>(Op::Signs::hard(x...)); });
  }
}

// What the library raises counts, what the questions raise does not.
template <typename Op, typename T, int kArity>
[[gnu::noinline]] FpFlags hard_loop(const MathBlock<T, kArity>& block) {
  bool hard[kMathBlock];
  ask_hard<Op>(block, hard);
  const core::WatchFpFlags watch;
  for (int64_t i = 0; i < block.size; ++i) {
    if (!hard[i]) continue;
    block.dst[i] = with_arguments(block, i, [](auto... x) { return Op::Signs::by_library(x...); });
  }
  return watch.raised();
}

template <typename Op, typename T, int kArity>
FpFlags run_block(const MathBlock<T, kArity>& block) {
  using Signs = typename Op::Signs;
  if (!math::says_yes<T>(plain_block<Op>(block))) return 0;
  const auto rest = [&](auto... x) -> FpFlags {
    Special special{0, true};
    if constexpr (math::HasSpecialArguments<Signs, decltype(x)...>)
      special = special_loop<Op>(block);
    if constexpr (math::HasHardArguments<Signs, decltype(x)...>) {
      if (special.hard) special.raised |= hard_loop<Op>(block);
    }
    return special.raised;
  };
  return with_arguments(block, 0, rest);
}

// Results that would replace arguments are kept aside, and scalars become a block.
template <typename Op, typename T, int kArity>
FpFlags run_function(const TileArgs& args) {
  alignas(64) T aside[kMathBlock], scalars[kArity][kMathBlock];
  FpFlags raised = 0;
  const int64_t most = std::min(kMathBlock, args.size);
  for (int k = 0; k < kArity; ++k) {
    if (args.scalar_mask >> k & 1) {
      std::fill_n(scalars[k], most, *reinterpret_cast<const T*>(args.src[k]));
    }
  }
  for (int64_t begin = 0; begin < args.size; begin += kMathBlock) {
    T* const dst = reinterpret_cast<T*>(args.dst) + begin;
    MathBlock<T, kArity> block{{}, dst, std::min(kMathBlock, args.size - begin)};
    for (int k = 0; k < kArity; ++k) {
      const bool scalar = (args.scalar_mask >> k & 1) != 0;
      block.x[k] = scalar ? scalars[k] : reinterpret_cast<const T*>(args.src[k]) + begin;
      if (block.x[k] == dst) block.dst = aside;
    }
    raised |= run_block<Op>(block);
    if (block.dst != dst) std::copy_n(aside, block.size, dst);
  }
  return raised;
}

template <typename Op, DType D, int kArity>
void math_kernel(const TileArgs& args) noexcept {
  using T = core::Storage<D>;
  FpFlags raised = 0;
  finish<true>([&] {
    const bool one = kArity == 1 && args.scalar_mask != 0;
    TileArgs some = args;
    if (one) some.size = 1;
    raised = run_function<Op, T, kArity>(some);
    if (one) repeat_first(args, sizeof(T));
  });
  core::raise(raised);
}

// Without a fused multiply-add some functions are better left to the library.
template <typename Op>
inline constexpr bool kWritable = [] {
  if constexpr (requires { Op::Signs::kNeedsExact; }) return Arithmetic::kExact;
  return true;
}();

template <typename Op, DType D, int kArity>
void fill_function(KernelTable& table, Insn insn) {
  if constexpr (tile_ops::Function<Op>) {
    if constexpr (kWritable<Op>) table.entry(insn, D) = math_kernel<Op, D, kArity>;
  }
}

template <DType D>
void fill_functions(KernelTable& table) {
#define DVM_ELEMENTWISE(name, arity, ...) \
  fill_function<tile_ops::name, D, arity>(table, Insn::name);
#include "core/ops/elementwise.def"
#undef DVM_ELEMENTWISE
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
