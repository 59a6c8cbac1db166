// Which processors the workers of a team may use.
#pragma once

#include <span>
#include <thread>

namespace dvm::cpu {

// -1 where the system does not tell.
int current_processor();

// Lets the workers run wherever the calling thread may, but not on that processor, so that none
// waits there for the caller to stop. Does nothing where the caller has no other.
void keep_off(int processor, std::span<std::thread> workers);

}  // namespace dvm::cpu
