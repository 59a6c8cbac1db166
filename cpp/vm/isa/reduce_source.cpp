#include "vm/isa/reduce_source.h"

namespace dvm::vm {

namespace {

// Whether nothing but reductions needs what the cast makes, and each of them can do without it.
// Chains compute what casts to floats and bools read, so that these have to read memory.
bool is_spared(const Stage& stage, const KernelStep& cast) {
  const auto source = static_cast<DType>(cast.aux);
  if (cast.insn != Insn::cast || is_output(stage, cast.dst)) return false;
  const StageValue::Kind kind = stage.values[cast.src[0]].kind;
  const bool to_integer = core::info(cast.dtype).kind == core::Kind::integer;
  if (kind != StageValue::Kind::global && !(to_integer && kind == StageValue::Kind::computed)) {
    return false;
  }
  for (int i = 0; i < stage.step_count; ++i) {
    const KernelStep& step = stage.steps[i];
    for (int k = 0; k < step.arity; ++k) {
      if (step.src[k] != cast.dst) continue;
      if (step.axes == 0 || !reads(step.insn, step.dtype, reduce_order(step.aux), source)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

void spare_casts(Stage& stage) {
  if (!stage.reduces()) return;
  int kept = 0;
  for (int i = 0; i < stage.step_count; ++i) {
    const KernelStep cast = stage.steps[i];
    if (!is_spared(stage, cast)) {
      stage.steps[kept++] = cast;
      continue;
    }
    for (int k = i + 1; k < stage.step_count; ++k) {
      KernelStep& reduce = stage.steps[k];
      if (reduce.src[0] != cast.dst) continue;
      const auto source = static_cast<DType>(cast.aux);
      reduce.src[0] = cast.src[0];
      reduce.aux = reduce_aux(reduce_order(reduce.aux), reduce.dtype, source);
    }
    stage.values[cast.dst].span = 0;  // unused now, it keeps no dims apart
  }
  stage.step_count = kept;
}

}  // namespace dvm::vm
