#include "vm/tile/recompute.h"

#include <algorithm>

namespace dvm::vm {

namespace {

class Repeater {
 public:
  explicit Repeater(Stage& stage) : stage_(stage) {}

  void run() {
    for (int i = 0; i < stage_.step_count; ++i) {
      const KernelStep& step = stage_.steps[i];
      if (is_cheap(step) && !is_output(stage_, step.dst)) repeat(i);
    }
  }

 private:
  bool is_cheap(const KernelStep& step) const {
    switch (step.insn) {
      case Insn::add:
      case Insn::sub:
      case Insn::mul:
        break;
      default:
        return false;
    }
    return core::is_floating(step.dtype) && (span(step.dst) & stage_.reduced()) != 0 &&
           std::all_of(step.src, step.src + step.arity, [&](int16_t v) { return is_there(v); });
  }
  DimMask span(int16_t value) const { return stage_.values[value].span; }

  // Whether a value takes no room of all its elements in a tile: an operand, a scalar, or what is
  // the same for a whole row.
  bool is_there(int16_t value) const {
    if (stage_.values[value].kind != StageValue::Kind::computed) return true;
    for (int i = 0; i < stage_.step_count; ++i) {
      const KernelStep& step = stage_.steps[i];
      if (step.dst != value) continue;
      if (step.insn == Insn::broadcast) value = step.src[0];
      break;
    }
    return (span(value) & stage_.reduced()) == 0;
  }

  // Step `i` once more behind each reduction, if steps there read it.
  void repeat(int i) {
    const KernelStep original = stage_.steps[i];
    int16_t value = original.dst;
    bool reduced = false;
    for (int k = i + 1; k < stage_.step_count; ++k) {
      const auto reads = [&](int16_t& v) { return v == original.dst; };
      KernelStep& step = stage_.steps[k];
      if (std::any_of(step.src, step.src + step.arity, reads)) {
        if (reduced) {
          if (stage_.step_count == kMaxStageSteps || stage_.value_count == kMaxStageValues) return;
          value = stage_.add_value(stage_.values[original.dst]);
          std::copy_backward(stage_.steps + k, stage_.steps + stage_.step_count,
                             stage_.steps + stage_.step_count + 1);
          stage_.steps[k] = original;
          stage_.steps[k].dst = value;
          ++stage_.step_count;
          reduced = false;
          continue;
        }
        std::replace_if(step.src, step.src + step.arity, reads, value);
      }
      reduced |= step.axes != 0;
    }
  }

  Stage& stage_;
};

}  // namespace

void repeat_behind_reductions(Stage& stage) {
  if (stage.reduces()) Repeater(stage).run();
}

}  // namespace dvm::vm
