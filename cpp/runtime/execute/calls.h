// Host functions as instructions of a Plan.
#pragma once

#include <optional>
#include <string>

#include "runtime/execute/context.h"

namespace dvm::runtime {

// Each runs one instruction, before which nothing may be held back. Results that are not what the
// Plan says give the call up; nothing that the function made is left behind then.
// `executed`: by whose numbers the host knows its functions.
Outcome call_host(const Plan& executed, const Instruction& instruction, HostCalls& host,
                  ExecutionContext::State& state);
Outcome call_host_into(const Plan& executed, const Instruction& instruction, HostCalls& host,
                       ExecutionContext::State& state);

// If the last call of this context was given up because of a size that a host function gave: which
// function and what size, for a person.
std::optional<std::string> wrong_result(const Plan& plan, ExecutionContext& context);

}  // namespace dvm::runtime
