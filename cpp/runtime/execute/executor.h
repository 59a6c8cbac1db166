// Runs a Plan once. Steady state makes no heap allocation besides what HostCalls allocates.
#pragma once

#include <memory>
#include <span>

#include "runtime/host.h"
#include "runtime/plan/plan.h"
#include "vm/encode/encode.h"
#include "vm/target/target.h"

namespace dvm::runtime {

class FrozenMemory;

enum class Outcome : uint8_t {
  done,          // results are filled
  check_failed,  // a size check of the Plan failed before anything became visible: run the original
  host_error,    // a host call failed; its error is pending in the host
  left,          // of a loop's body: results are filled, with what leaves
};

// Nanoseconds of one call, accumulated when timing is on (dvm.explain, benchmarks). `plan` is what
// is none of the other phases: sizes, checks, outputs, the bookkeeping of buffers.
struct CallTimes {
  int64_t plan = 0, bind = 0, tile = 0, encode = 0, run = 0, regions = 0;
  int64_t regions_total() const { return bind + tile + encode + run; }
};

// Registers, temporaries and the Program arena of one call in flight. Contexts are pooled per
// thread and used like a stack, so that a host call may enter another Plan.
class ExecutionContext {
 public:
  ExecutionContext();
  ~ExecutionContext();
  static ExecutionContext& acquire();  // of the calling thread
  static void release(ExecutionContext& context);

  CallTimes* times = nullptr;      // where to add timings; null: no clock is read
  FrozenMemory* frozen = nullptr;  // what arguments may lie in; null: that of the process
  const Plan* program = nullptr;   // whose functions and data types there are; null: the Plan's own
  bool repeats = true;             // whether calls of equal scalars are to be expected
  // Status flags that the Regions of the last execute() raised on a target that reports them.
  core::FpFlags fp_flags = 0;
  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// `inputs` and `scalars` are the Plan's arguments in order (sizes, dtypes and ranks as declared;
// the caller has checked dtype and rank). On `done`, results[k].owner carries one reference each.
// On any other outcome no result is filled and everything allocated has been released.
Outcome execute(const Plan& plan, vm::Target& target, HostCalls& host,
                std::span<const BufferView> inputs, std::span<const core::Scalar> scalars,
                std::span<BufferView> results, ExecutionContext& context);

}  // namespace dvm::runtime
