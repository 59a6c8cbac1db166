#include "vm/tile/core_cost.h"

#include <algorithm>

#include "vm/isa/program.h"
#include "vm/target/core_timing.h"

namespace dvm::vm {

CoreCost core_cost(const Stage& stage, const TargetTraits& target) {
  constexpr double kRepeatBytes = 256;
  const CoreTiming& timing = core_timing(target);
  CoreCost cost;
  cost.launch = timing.launch_cycles + timing.fetch_cycles + timing.write_cycles;
  cost.per_core = timing.core_cycles;
  // To the vector unit, and on to the store.
  cost.per_tile = timing.miss_cycles + 2 * timing.flag_cycles;
  DimMask all = 0;
  for (int v = 0; v < stage.value_count; ++v) all |= stage.values[v].span;
  // What lacks some dims has few elements beside the others.
  const auto elements = [&](int16_t value) { return stage.values[value].span == all ? 1.0 : 0.0; };
  const auto bytes = [&](int16_t value) {
    return static_cast<double>(core::byte_size(stage.values[value].dtype));
  };
  for (int16_t v = 0; v < stage.value_count; ++v) {
    if (stage.values[v].kind != StageValue::Kind::global) continue;
    cost.per_tile += timing.ramp_bytes / timing.load_ub_bytes;
    cost.per_element += elements(v) * bytes(v) / timing.load_ub_bytes;
  }
  for (int k = 0; k < stage.step_count; ++k) {
    const KernelStep& step = stage.steps[k];
    bool scalar = false;
    double widest = elements(step.dst) * bytes(step.dst);
    for (int s = 0; s < step.arity; ++s) {
      scalar = scalar || stage.values[step.src[s]].kind == StageValue::Kind::scalar;
      widest = std::max(widest, elements(step.src[s]) * bytes(step.src[s]));
    }
    const VectorCost vector = vector_cost(step.insn, step.dtype, scalar && step.arity == 2);
    cost.per_tile += vector.head;
    cost.per_element += vector.slope * widest / kRepeatBytes;
  }
  for (int k = 0; k < stage.output_count; ++k) {
    const int16_t value = stage.outputs[k].value;
    cost.launch += timing.ramp_bytes / timing.store_bytes;
    cost.stored += elements(value) * bytes(value) / timing.store_bytes;
  }
  return cost;
}

}  // namespace dvm::vm
