// Elementwise arithmetic and comparisons: one loop per op, dtype and choice of scalar operands.
#include <type_traits>

#include "core/elementwise.h"
#include "cpu/elements.h"
#include "cpu/kernels.h"
#include "cpu/tile_ops.h"

namespace dvm::cpu {

namespace {

using vm::Insn;
using vm::KernelTable;
using vm::TileArgs;

// The result's dtype may differ from the operands' (comparisons), hence two element types.
template <DType D, DType Result, bool kScalarA, bool kScalarB, typename Apply>
void loop(const TileArgs& args, Apply apply) {
  const Source<D, kScalarA> a(args.src[0]);
  const Source<D, kScalarB> b(args.src[1]);
  auto* dst = reinterpret_cast<typename Element<Result>::Storage*>(args.dst);
  const int64_t size = args.size;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) dst[i] = Element<Result>::store(apply(a[i], b[i]));
}

template <DType D, DType Result, typename Apply>
void binary(const TileArgs& args, Apply apply) {
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
  binary<D, D>(args, [](auto a, auto b) { return Op::apply(a, b); });
}

template <typename Op, DType D, bool kScalar>
void unary_loop(const TileArgs& args) {
  const Source<D, kScalar> a(args.src[0]);
  auto* dst = reinterpret_cast<typename Element<D>::Storage*>(args.dst);
  const int64_t size = args.size;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) dst[i] = Element<D>::store(Op::apply(a[i], a[i]));
}

template <typename Op, DType D>
void unary_kernel(const TileArgs& args) noexcept {
  return args.scalar_mask ? unary_loop<Op, D, true>(args) : unary_loop<Op, D, false>(args);
}

template <DType D>
void compare_kernel(const TileArgs& args) noexcept {
  switch (static_cast<vm::Compare>(args.aux)) {
#define DVM_COMPARE(name, op, numpy) \
  case vm::Compare::name:            \
    return binary<D, DType::boolean>(args, [](auto a, auto b) -> uint8_t { return a op b; });
#include "core/compare.def"
#undef DVM_COMPARE
  }
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
