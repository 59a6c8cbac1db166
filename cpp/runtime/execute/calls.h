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

// The check that ended the last call of a context early, for a person.
struct FailedCheck {
  int32_t input = -1;     // the array whose size does not fit, if it is an argument
  std::string of_result;  // which one, if it is what a host function gave
  int64_t axis = 0, size = 0;
  std::string wanted;  // what the graph says
};
std::optional<FailedCheck> failed_check(const Plan& plan, ExecutionContext& context);

// If that is of a size that a host function gave: which function and what size.
std::optional<std::string> wrong_result(const Plan& plan, ExecutionContext& context);

}  // namespace dvm::runtime
