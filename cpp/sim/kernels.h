// Tile kernels of the simulated targets: core/ops/scalar_ops.h element by element, so that fp16
// rounds after every instruction and results equal the reference evaluator's (numerics="strict").
#pragma once

#include "vm/run/tile_kernel.h"

namespace dvm::sim {

const vm::KernelTable& kernel_table();

}  // namespace dvm::sim
