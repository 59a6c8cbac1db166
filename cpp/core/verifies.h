#pragma once

#include <atomic>

namespace dvm::core {

// Whether what dvm makes is verified as soon as it is made: Graphs between passes, Plans, Programs
// (at some ten times the cost of making one) and where temporaries lie. So it is in debug builds,
// and where DVM_VERIFY is set to 1 in the environment, as all tests do.
std::atomic<bool>& verifies();

}  // namespace dvm::core
