// The target that computes at full speed: the shared interpreter over the cpu's tile kernels, with
// the tiles of a large Program spread over the threads of the process.
#pragma once

#include <cstdint>
#include <memory>

#include "vm/target/target.h"

namespace dvm::cpu {

enum class Threads : uint8_t {
  team,  // of the process, where a Program is large enough
  one,   // the calling one alone, whatever the team is
};
std::unique_ptr<vm::Target> make_cpu_target(Threads threads = Threads::team);

// Threads a Program may use, the calling one included; by default DVM_NUM_THREADS or all that the
// hardware has. At least 1.
void set_thread_count(int threads);
int thread_count();

}  // namespace dvm::cpu
