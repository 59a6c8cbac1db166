// The rows of tile_ops.h and cmp on halves, which are formats of storage: blocks of them become
// f32, the f32 kernel runs on them, and what it gives is rounded once. Of some the bits tell all.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elementwise/half_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include "core/ops/elementwise.h"
#include "cpu/elementwise/elementwise-inl.h"
#include "cpu/elementwise/half_blocks-inl.h"
#include "cpu/elementwise/tile_ops.h"

#if DVM_LEVEL_IS_HERE

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

// kHalf: whether the result is one of H, not bool.
template <typename H, Insn kInsn, int kArity, bool kHalf>
void half_kernel(const TileArgs& args) noexcept {
  static const vm::TileKernel kernel =
      kernel_table(kLevel).at[static_cast<int>(kInsn)][static_cast<int>(DType::f32)];
  constexpr int64_t kBlock = 512;
  alignas(64) float operands[kArity][kBlock], result[kBlock];
  TileArgs block = args;
  for (int k = 0; k < kArity; ++k) {
    block.src[k] = reinterpret_cast<const std::byte*>(operands[k]);
    if (args.scalar_mask >> k & 1)
      widen<H>(reinterpret_cast<const uint16_t*>(args.src[k]), 1, operands[k]);
  }
  for (int64_t begin = 0; begin < args.size; begin += kBlock) {
    block.size = std::min(kBlock, args.size - begin);
    for (int k = 0; k < kArity; ++k) {
      if (args.scalar_mask >> k & 1) continue;
      widen<H>(reinterpret_cast<const uint16_t*>(args.src[k]) + begin, block.size, operands[k]);
    }
    block.dst = kHalf ? reinterpret_cast<std::byte*>(result) : args.dst + begin;
    kernel(block);
    if constexpr (kHalf) {
      narrow<H>(result, block.size, reinterpret_cast<uint16_t*>(args.dst) + begin);
    }
  }
}

template <DType D, typename Op, Insn kInsn, int kArity, core::OperandRule kOperands,
          core::ResultRule kResult>
void fill_half(KernelTable& table) {
  if constexpr (tile_ops::Written<Op> && tile_ops::kHalvesAsFloats<Op> &&
                core::allows(kOperands, D)) {
    table.entry(kInsn, D) =
        half_kernel<core::Storage<D>, kInsn, kArity, kResult != core::ResultRule::boolean>;
  }
}

#define DVM_HALF_BITS(name, Result, expression)                            \
  template <typename H>                                                    \
  struct name##_of_half {                                                  \
    static constexpr bool kQuiet = true;                                   \
    template <typename T>                                                  \
    DVM_ALWAYS_INLINE static Result apply(T a, T /*b*/) {                  \
      [[maybe_unused]] const auto magnitude = static_cast<T>(a & 0x7fffu); \
      return static_cast<Result>(expression);                              \
    }                                                                      \
  };
DVM_HALF_BITS(abs, T, magnitude)
DVM_HALF_BITS(neg, T, a ^ 0x8000u)
DVM_HALF_BITS(isnan, bool, magnitude > H::kInfinity)
DVM_HALF_BITS(isinf, bool, magnitude == H::kInfinity)
DVM_HALF_BITS(isfinite, bool, magnitude < H::kInfinity)
DVM_HALF_BITS(signbit, bool, magnitude != a)
#undef DVM_HALF_BITS

template <typename Op, DType Result = DType::u16>
inline constexpr vm::TileKernel kByBits = unary_kernel<Op, DType::u16, Result>;

template <DType D>
void fill_halves_of(KernelTable& table) {
  using H = core::Storage<D>;
#define DVM_ELEMENTWISE(name, arity, dtypes, result, ...)                    \
  fill_half<D, tile_ops::name, Insn::name, arity, core::OperandRule::dtypes, \
            core::ResultRule::result>(table);
#include "core/ops/elementwise.def"
#undef DVM_ELEMENTWISE
  table.entry(Insn::cmp, D) = half_kernel<H, Insn::cmp, 2, false>;
  const auto fill = [&](Insn insn, vm::TileKernel kernel) { table.entry(insn, D) = kernel; };
  fill(Insn::abs, kByBits<abs_of_half<H>>);
  fill(Insn::fabs, kByBits<abs_of_half<H>>);
  fill(Insn::neg, kByBits<neg_of_half<H>>);
  fill(Insn::isnan, kByBits<isnan_of_half<H>, DType::boolean>);
  fill(Insn::isinf, kByBits<isinf_of_half<H>, DType::boolean>);
  fill(Insn::isfinite, kByBits<isfinite_of_half<H>, DType::boolean>);
  fill(Insn::signbit, kByBits<signbit_of_half<H>, DType::boolean>);
}

void fill_halves(KernelTable& table) {
  for (int d = 0; d < core::kDTypeCount; ++d) {
    core::dispatch(static_cast<DType>(d), [&]<DType D>() {
      if constexpr (core::is_half(D)) fill_halves_of<D>(table);
    });
  }
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if DVM_CHOOSES_LEVEL
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_halves)
}
#endif
