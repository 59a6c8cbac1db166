// When the values of a Stage die: the last step that reads each, in step order; -1 without one.
#pragma once

#include <algorithm>

#include "vm/tile/bind.h"

namespace dvm::vm {

class LastUse {
 public:
  // `root` maps each value to the one that stands for it.
  void compute(const Stage& stage, const int16_t* root) {
    std::fill_n(step_, stage.value_count, int16_t{-1});
    for (int i = 0; i < stage.step_count; ++i) {
      const KernelStep& step = stage.steps[i];
      if (root[step.dst] != step.dst) continue;  // no instruction of its own
      for (int k = 0; k < step.arity; ++k) step_[root[step.src[k]]] = static_cast<int16_t>(i);
    }
  }
  int16_t operator[](int16_t value) const { return step_[value]; }

 private:
  int16_t step_[kMaxStageValues];
};

}  // namespace dvm::vm
