// Extremes, and of bools whether any or all are true.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce/extreme_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include "cpu/reduce/reduce_casts-inl.h"
#include "cpu/reduce/reduce_table-inl.h"
#include "cpu/reduce/truth-inl.h"

#if DVM_LEVEL_IS_HERE

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

// Of bools, and of numbers that are read as such.
template <typename Op>
void reduce_truth(const TileArgs& args) noexcept {
  const DType from = vm::reduced_dtype(DType::boolean, args.aux);
  if (args.n == 1 && !args.row_stride) return find_truth_of<std::is_same_v<Op, Max>>(from, args);
  if (core::byte_size(from) == 1) return reduce_bools<Op>(args);
  CastReduction<uint8_t>(args, casts_from<uint8_t, true>(from), reduce_bools<Op>).run();
}

void fill_extremes(vm::KernelTable& table) {
  fill_reduction<Max>(table, Insn::max);
  fill_reduction<Min>(table, Insn::min);
  fill_reduction<NanMax>(table, Insn::nanmax);
  fill_reduction<NanMin>(table, Insn::nanmin);
  table.entry(Insn::max, DType::boolean) = reduce_truth<Max>;
  table.entry(Insn::min, DType::boolean) = reduce_truth<Min>;
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if DVM_CHOOSES_LEVEL
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_extremes)
}
#endif
