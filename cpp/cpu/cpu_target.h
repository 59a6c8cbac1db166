// The target that computes at full speed: the shared interpreter over the cpu's tile kernels, with
// the tiles of a large Program spread over the threads of the process.
#pragma once

#include <memory>

#include "vm/target.h"

namespace dvm::cpu {

std::unique_ptr<vm::Target> make_cpu_target();

// Threads a Program may use, the calling one included; by default DVM_NUM_THREADS or all that the
// hardware has. At least 1.
void set_thread_count(int threads);
int thread_count();

}  // namespace dvm::cpu
