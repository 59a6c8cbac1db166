#include "vm/tile/chain_steps.h"

namespace dvm::vm {

int8_t chain_width(const ChainRules& rules, const Stage& stage, const KernelStep& step) {
  for (int k = 0; k < step.arity; ++k) {
    const StageValue& source = stage.values[step.src[k]];
    if (source.kind == StageValue::Kind::scalar && !is_wide(source.dtype)) return kNoChain;
  }
  return chain_width(rules, step.insn, step.dtype, step.aux);
}

bool sums_rows(const Stage& stage, const KernelStep& step, int width) {
  return step.insn == Insn::sum && stage.reduce_end == stage.rank &&
         step.aux == static_cast<uint8_t>(ReduceOrder::lanes) &&
         (step.dtype == DType::f32 || step.dtype == DType::f64) &&
         core::byte_size(step.dtype) == width;
}

}  // namespace dvm::vm
