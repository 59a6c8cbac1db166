// Sums and products.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/sum_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include "cpu/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

void fill_sums(vm::KernelTable& table) {
  fill_reduction<Sum>(table, Insn::sum);
  fill_reduction<Prod>(table, Insn::prod);
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_sums)
}
#endif
