// The rows of tile_ops.h and comparisons: one loop per op, dtype and choice of scalar operands.
#include <algorithm>
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
    default: {
      // One element, repeated.
      TileArgs one = args;
      one.size = 1;
      const FpFlags flags = loop<D, Result, true, false>(one, apply);
      auto* dst = reinterpret_cast<typename Element<Result>::Storage*>(args.dst);
      std::fill_n(dst + 1, args.size - 1, *dst);
      return flags;
    }
  }
}

template <typename Op, DType D, DType Result>
void binary_kernel(const TileArgs& args) noexcept {
  finish<Op::kQuiet && core::is_floating(D)>(
      [&] { return binary<D, Result>(args, [](auto a, auto b) { return Op::apply(a, b); }); });
}

template <typename Op, DType D, DType Result, bool kScalar>
[[gnu::noinline]] FpFlags unary_loop(const TileArgs& args) {
  const Source<D, kScalar> a(args.src[0]);
  auto* dst = reinterpret_cast<typename Element<Result>::Storage*>(args.dst);
  const int64_t size = args.size;
  RoundingFlags<Result> rounding;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) {
    const auto x = Op::apply(a[i], a[i]);
    rounding.note(x);
    dst[i] = Element<Result>::store(x);
  }
  return rounding.flags();
}

template <typename Op, DType D, DType Result>
void unary_kernel(const TileArgs& args) noexcept {
  finish<Op::kQuiet && core::is_floating(D)>([&] {
    return args.scalar_mask ? unary_loop<Op, D, Result, true>(args)
                            : unary_loop<Op, D, Result, false>(args);
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

template <typename Op, int kArity, core::OperandRule kOperands, core::ResultRule kResult, DType D>
void fill_row(vm::TileKernel& entry) {
  if constexpr (tile_ops::Written<Op> && core::allows(kOperands, D)) {
    constexpr DType kStored = kResult == core::ResultRule::boolean ? DType::boolean : D;
    if constexpr (kArity == 1) {
      entry = unary_kernel<Op, D, kStored>;
    } else {
      entry = binary_kernel<Op, D, kStored>;
    }
  }
}

}  // namespace

void fill_elementwise(KernelTable& table) {
  const auto fill = [&]<DType D>() {
#define DVM_ELEMENTWISE(name, arity, dtypes, result, numpy, slope, head, synopsis)         \
  fill_row<tile_ops::name, arity, core::OperandRule::dtypes, core::ResultRule::result, D>( \
      table.entry(Insn::name, D));
#include "core/elementwise.def"
#undef DVM_ELEMENTWISE
    table.entry(Insn::cmp, D) = compare_kernel<D>;
  };
  for (int d = 0; d < core::kDTypeCount; ++d) core::dispatch(static_cast<DType>(d), fill);
}

}  // namespace dvm::cpu
