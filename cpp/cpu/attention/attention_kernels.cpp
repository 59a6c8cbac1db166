// The tile kernels of attentions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/attention/attention_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include "cpu/attention/attention-inl.h"
#include "cpu/attention/attention_kernels.h"

#if DVM_LEVEL_IS_HERE

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

template <core::DType D>
void fill_attention_of(vm::KernelTable& table) {
  using attention::Mask;
  table.entry(vm::Insn::attend, D) = attention::attend_kernel<D, Mask::none>;
  table.entry(vm::Insn::attend_masked, D) = attention::attend_kernel<D, Mask::masked>;
  table.entry(vm::Insn::attend_biased, D) = attention::attend_kernel<D, Mask::biased>;
}

void fill_attention(vm::KernelTable& table) {
  fill_attention_of<core::DType::f32>(table);
  fill_attention_of<core::DType::f64>(table);
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if DVM_CHOOSES_LEVEL
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_attention)
}  // namespace dvm::cpu
#endif
