// What the driver says while it works: topics named in the environment variable DVM_LOGS, separated
// by commas. `passes` prints what each pass made, `fusion` the decisions; `perf` how long it took.
#pragma once

#include <string_view>

#include "driver/compile.h"

namespace dvm::driver {

bool log_enabled(std::string_view topic);
void log_pass(const PassRecord& pass);
void log_decision(const core::Decision& decision);

}  // namespace dvm::driver
