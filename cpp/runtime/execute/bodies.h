// Loops and branches of a Plan. A body is a Plan that runs in a context of its own, with what its
// instruction gives it as arguments.
#pragma once

#include <span>

#include "runtime/execute/context.h"

namespace dvm::runtime {

// Runs one such instruction, before which nothing may be held back, and defines its results.
// Adds to context.fp_flags.
Outcome run_loop(const Plan& plan, const Instruction& instruction, vm::Target& target,
                 HostCalls& host, ExecutionContext& context);
Outcome run_branch(const Plan& plan, const Instruction& instruction, vm::Target& target,
                   HostCalls& host, ExecutionContext& context);

}  // namespace dvm::runtime
