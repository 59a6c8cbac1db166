// Extremes, and of bools whether any or all are true.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/extreme_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include "cpu/reduce-inl.h"
#include "cpu/reduce_casts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

void fill_extremes(vm::KernelTable& table) {
  fill_reduction<Max>(table, Insn::max);
  fill_reduction<Min>(table, Insn::min);
  fill_reduction<NanMax>(table, Insn::nanmax);
  fill_reduction<NanMin>(table, Insn::nanmin);
  table.entry(Insn::max, DType::boolean) = reduce_casts<uint8_t, true, reduce_bools<Max>>;
  table.entry(Insn::min, DType::boolean) = reduce_casts<uint8_t, true, reduce_bools<Min>>;
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_extremes)
}
#endif
