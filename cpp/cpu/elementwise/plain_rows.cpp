// What no other file has filled in: elementwise rows that call the math library, integer division,
// of which no loop becomes SIMD, products of matrices and gathers. Compiled without the flags of
// the other kernels, so that status flags come from exactly the operations that scalar_math.h
// writes down.
#include "cpu/elementwise/tile_ops.h"
#include "cpu/kernels.h"
#include "vm/run/plain_kernel.h"

namespace dvm::cpu {

namespace {

// Most bodies of tile_ops.h are for any dtype; of a function that is so of floats alone.
template <typename Body, typename Op, DType D, int kArity, core::OperandRule kOperands>
void fill_row(vm::TileKernel& entry) {
  if constexpr (!tile_ops::Written<Body> || tile_ops::Function<Body>) {
    if (entry == nullptr) entry = vm::plain_kernel<Op, D, kArity, kOperands>();
  }
}

}  // namespace

void fill_plain(vm::KernelTable& table) {
  const auto fill = [&]<DType D>() {
#define DVM_ELEMENTWISE(name, arity, dtypes, result, ...)                            \
  fill_row<tile_ops::name, core::scalar::name, D, arity, core::OperandRule::dtypes>( \
      table.entry(vm::Insn::name, D));
#include "core/ops/elementwise.def"
#undef DVM_ELEMENTWISE
    using T = core::Storage<D>;
    table.entry(vm::Insn::gather, D) = vm::plain_gather<T, vm::IndexPer::position>;
    table.entry(vm::Insn::take_along, D) = vm::plain_gather<T, vm::IndexPer::element>;
  };
  for (int d = 0; d < core::kDTypeCount; ++d) core::dispatch(static_cast<DType>(d), fill);
}

}  // namespace dvm::cpu
