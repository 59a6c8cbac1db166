// Loops of a Plan. A trip is a call of the body, a Plan that runs in a context of its own.
#pragma once

#include "runtime/execute/context.h"

namespace dvm::runtime {

// Runs a loop of the innermost Plan, before which nothing may be held back, and defines its
// results. `executed`: by whose numbers the host knows functions. `program`: whose functions and
// data types there are. Adds to context.fp_flags.
Outcome run_loop(const Plan& executed, const Plan& program, const Instruction& instruction,
                 vm::Target& target, HostCalls& host, ExecutionContext& context);

}  // namespace dvm::runtime
