// Elementwise arithmetic and comparisons: one loop per op, dtype and choice of scalar operands.
#include <type_traits>

#include "core/elementwise.h"
#include "cpu/elements.h"
#include "cpu/kernels.h"
#include "cpu/tile_ops.h"

namespace dvm::cpu {

namespace {

using core::FpFlags;
using vm::Insn;
using vm::KernelTable;
using vm::TileArgs;

// Raises what `run` returns, and nothing that it raised itself where it is quiet.
template <bool kQuiet, typename Run>
void finish(Run run) {
  if constexpr (kQuiet) {
    const core::KeepFpFlags keep;
    run();
  } else {
    core::raise(run());
  }
}

// Loops return the flags that the hardware has not seen. They are not inlined, so that the flags
// which are cleared after a quiet one are its own.
//
// The result's dtype may differ from the operands' (comparisons), hence two element types.
template <DType D, DType Result, bool kScalarA, bool kScalarB, typename Apply>
[[gnu::noinline]] FpFlags loop(const TileArgs& args, Apply apply) {
  const Source<D, kScalarA> a(args.src[0]);
  const Source<D, kScalarB> b(args.src[1]);
  auto* dst = reinterpret_cast<typename Element<Result>::Storage*>(args.dst);
  const int64_t size = args.size;
  RoundingFlags<Result> rounding;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) {
    const auto x = apply(a[i], b[i]);
    rounding.note(x);
    dst[i] = Element<Result>::store(x);
  }
  return rounding.flags();
}

template <DType D, DType Result, typename Apply>
FpFlags binary(const TileArgs& args, Apply apply) {
  switch (args.scalar_mask) {
    case 0:
      return loop<D, Result, false, false>(args, apply);
    case 1:
      return loop<D, Result, true, false>(args, apply);
    case 2:
      return loop<D, Result, false, true>(args, apply);
    default:
      return loop<D, Result, true, true>(args, apply);
  }
}

template <typename Op, DType D>
void binary_kernel(const TileArgs& args) noexcept {
  const auto run = [&] {
    return binary<D, D>(args, [](auto a, auto b) { return Op::apply(a, b); });
  };
  finish<Op::kQuiet && core::is_floating(D)>(run);
}

template <typename Op, DType D, bool kScalar>
[[gnu::noinline]] FpFlags unary_loop(const TileArgs& args) {
  const Source<D, kScalar> a(args.src[0]);
  auto* dst = reinterpret_cast<typename Element<D>::Storage*>(args.dst);
  const int64_t size = args.size;
  RoundingFlags<D> rounding;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) {
    const auto x = Op::apply(a[i], a[i]);
    rounding.note(x);
    dst[i] = Element<D>::store(x);
  }
  return rounding.flags();
}

template <typename Op, DType D>
void unary_kernel(const TileArgs& args) noexcept {
  finish<Op::kQuiet && core::is_floating(D)>([&] {
    return args.scalar_mask ? unary_loop<Op, D, true>(args) : unary_loop<Op, D, false>(args);
  });
}

template <DType D>
void compare_kernel(const TileArgs& args) noexcept {
  finish<core::is_floating(D)>([&] {
    switch (static_cast<vm::Compare>(args.aux)) {
#define DVM_COMPARE(name, op, numpy) \
  case vm::Compare::name:            \
    return binary<D, DType::boolean>(args, [](auto a, auto b) -> uint8_t { return a op b; });
#include "core/compare.def"
#undef DVM_COMPARE
    }
    __builtin_unreachable();
  });
}

template <typename Op, int kArity, core::OperandRule kOperands, DType D>
constexpr vm::TileKernel elementwise_kernel() {
  if constexpr (!core::allows(kOperands, D)) {
    return nullptr;
  } else if constexpr (kArity == 1) {
    return unary_kernel<Op, D>;
  } else {
    return binary_kernel<Op, D>;
  }
}

}  // namespace

void fill_elementwise(KernelTable& table) {
  const auto fill = [&]<DType D>() {
#define DVM_ELEMENTWISE(name, arity, dtypes, result, numpy, slope, head, synopsis) \
  table.entry(Insn::name, D) =                                                     \
      elementwise_kernel<tile_ops::name, arity, core::OperandRule::dtypes, D>();
#include "core/elementwise.def"
#undef DVM_ELEMENTWISE
    table.entry(Insn::cmp, D) = compare_kernel<D>;
  };
  for (int d = 0; d < core::kDTypeCount; ++d) core::dispatch(static_cast<DType>(d), fill);
}

}  // namespace dvm::cpu
