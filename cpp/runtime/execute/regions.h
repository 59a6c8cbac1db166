// Regions of the innermost Plan: their operands are bound, their sizes compared with those that the
// Kernel counts by, and their Programs encoded, or found again, and handed to the Launcher.
#pragma once

#include <vector>

#include "runtime/execute/context.h"
#include "runtime/execute/launcher.h"
#include "runtime/execute/left_out.h"
#include "runtime/memory/frozen_memory.h"

namespace dvm::runtime {

class Regions {
 public:
  Regions(vm::Target& target, Launcher& launcher, FrozenMemory& frozen, ExecutionContext& context)
      : target_(target),
        launcher_(launcher),
        frozen_(frozen),
        state_(context.state()),
        times_(context.times),
        watch_(vm::Watch::current()) {}

  Outcome run(const int32_t* p);  // one, whose operands lie there in the pool

 private:
  void describe(const vm::Kernel& kernel, const vm::Binding& binding, int globals);
  void bind_global(int global, const BufferView& view, int rank);
  const int32_t* bind_list(const int32_t* p, int rank, int& global);
  bool fits(const PlanRegion& region, const int32_t* lists, const int64_t* dims);
  FrozenMemory::Factor frozen_factor(const vm::Kernel& kernel, const int32_t* inputs);
  bool bind_packed(const vm::Compiled& compiled, const FrozenMemory::Factor& factor);
  Outcome run_left_out(const std::vector<LeftOut>& values, const int32_t* inputs);
  Outcome run_timed(const vm::Kernel& kernel, const vm::Binding& binding, int globals,
                    const FrozenMemory::Factor& factor);

  vm::Target& target_;
  Launcher& launcher_;
  FrozenMemory& frozen_;
  ExecutionContext::State& state_;
  CallTimes* const times_;
  vm::Watch* const watch_;
};

}  // namespace dvm::runtime
