// Loops of the rows of tile_ops.h, for one SIMD level: per op, dtype and choice of scalar operands.
// Included inside no namespace by files that for_each_level.h compiles, once per level.
#if defined(DVM_CPU_ELEMENTWISE) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_ELEMENTWISE
#undef DVM_CPU_ELEMENTWISE
#else
#define DVM_CPU_ELEMENTWISE
#endif

#include <algorithm>
#include <functional>
#include <type_traits>
#include <utility>

#include "core/ops/elementwise.h"
#include "cpu/elementwise/answers-inl.h"
#include "cpu/elementwise/run_loops.h"
#include "cpu/elementwise/same_bits.h"
#include "cpu/elementwise/tile_ops.h"
#include "cpu/move/elements.h"
#include "hwy/highway.h"
#include "vm/run/tile_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

using core::FpFlags;
using vm::Insn;
using vm::KernelTable;
using vm::TileArgs;

using Arithmetic = std::conditional_t<HWY_NATIVE_FMA != 0, core::math::Fused, core::math::Separate>;

// Loops are not inlined, so that the flags which are dropped after a quiet one are its own.
//
// The result's dtype may differ from the operands' (comparisons), hence two element types.
template <typename Apply, DType D, DType Result, bool kScalarA, bool kScalarB>
[[gnu::noinline]] void binary_loop(const TileArgs& args) {
  using T = typename Element<D>::Storage;
  const Source<D, kScalarA> a(args.src[0]);
  const Source<D, kScalarB> b(args.src[1]);
  auto* dst = reinterpret_cast<typename Element<Result>::Storage*>(args.dst);
  const int64_t size = args.size;
  int64_t done = 0;
  if constexpr (Result == DType::boolean) {
    done = answer<Apply, kScalarA, kScalarB>(reinterpret_cast<const T*>(args.src[0]),
                                             reinterpret_cast<const T*>(args.src[1]), dst, size);
  }
  DVM_INDEPENDENT
  for (int64_t i = done; i < size; ++i) dst[i] = Element<Result>::store(Apply{}(a[i], b[i]));
}

template <typename Apply, DType D, DType Result, bool kCommutes>
constexpr BinaryLoops binary_loops() {
  using Operand = typename Element<D>::Storage;
  BinaryLoops loops{.sizes = ElementSizes::of<2, typename Element<Result>::Storage, Operand>(),
                    .arrays = binary_loop<Apply, D, Result, false, false>,
                    .scalar_first = nullptr,
                    .scalar_second = binary_loop<Apply, D, Result, false, true>,
                    .commutes = kCommutes};
  if constexpr (!kCommutes) loops.scalar_first = binary_loop<Apply, D, Result, true, false>;
  return loops;
}

template <typename Op, DType D, DType Result>
[[gnu::noinline]] void unary_loop(const TileArgs& args) {
  using T = typename Element<D>::Storage;
  const Source<D, false> a(args.src[0]);
  auto* dst = reinterpret_cast<typename Element<Result>::Storage*>(args.dst);
  const int64_t size = args.size;
  int64_t done = 0;
  if constexpr (Result == DType::boolean) {
    const auto* x = reinterpret_cast<const T*>(args.src[0]);
    done = answer<Op, false, true>(x, x, dst, size);
  }
  DVM_INDEPENDENT
  for (int64_t i = done; i < size; ++i) dst[i] = Element<Result>::store(Op::apply(a[i], a[i]));
}

template <DType D, DType Result = D>
inline constexpr ElementSizes kUnarySizes =
    ElementSizes::of<1, typename Element<Result>::Storage, typename Element<D>::Storage>();

// Runs and puts the flags back where that is asked for.
template <bool kQuiet, typename Run>
void finish(Run run) {
  if constexpr (kQuiet) {
    const core::KeepFpFlags keep;
    run();
  } else {
    run();
  }
}

template <typename Op, DType D, DType Result>
void unary_kernel(const TileArgs& args) noexcept {
  finish<Op::kQuiet && core::is_floating(D)>(
      [&] { run_unary(args, kUnarySizes<D, Result>, unary_loop<Op, D, Result>); });
}

template <typename Op>
struct Applied {
  template <typename T>
  DVM_ALWAYS_INLINE auto operator()(T a, T b) const {
    return Op::apply(a, b);
  }
};

template <typename Op, DType D, DType Result>
void binary_kernel(const TileArgs& args) noexcept {
  // A square reads its operand once.
  if constexpr (std::is_same_v<Op, tile_ops::mul> && D != DType::boolean) {
    if (args.src[0] == args.src[1]) return unary_kernel<tile_ops::square, D, Result>(args);
  }
  constexpr bool kCommutes = !core::is_floating(D) && tile_ops::kCommutes<Op>;
  static constexpr BinaryLoops kLoops = binary_loops<Applied<Op>, D, Result, kCommutes>();
  finish<Op::kQuiet && core::is_floating(D)>([&] { run_binary(args, kLoops); });
}

template <DType D>
void compare_kernel(const TileArgs& args) noexcept {
  constexpr DType kBits = unsigned_of(D), kResult = DType::boolean;
  static constexpr CompareLoops kLoops = {
      .eq = binary_loops<std::equal_to<>, kBits, kResult, true>(),
      .ne = binary_loops<std::not_equal_to<>, kBits, kResult, true>(),
      .lt = binary_loops<std::less<>, D, kResult, false>(),
      .le = binary_loops<std::less_equal<>, D, kResult, false>()};
  finish<core::is_floating(D)>([&] { run_compare(args, kLoops); });
}

template <typename Op, DType D, int kArity, core::OperandRule kOperands, core::ResultRule kResult>
void fill_row(vm::TileKernel& entry) {
  if constexpr (tile_ops::Written<Op> && !tile_ops::Function<Op> && core::allows(kOperands, D)) {
    using Same = SameBits<Op, D>;
    constexpr DType kOperand = Same::kDType;
    constexpr DType kStored = kResult == core::ResultRule::boolean ? DType::boolean : kOperand;
    if constexpr (kArity == 1) {
      entry = unary_kernel<typename Same::Op, kOperand, kStored>;
    } else {
      entry = binary_kernel<typename Same::Op, kOperand, kStored>;
    }
  }
}

template <DType D>
void fill_rows(KernelTable& table) {
#define DVM_ELEMENTWISE(name, arity, dtypes, result, ...)                                  \
  fill_row<tile_ops::name, D, arity, core::OperandRule::dtypes, core::ResultRule::result>( \
      table.entry(Insn::name, D));
#include "core/ops/elementwise.def"
#undef DVM_ELEMENTWISE
  table.entry(Insn::cmp, D) = compare_kernel<D>;
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
