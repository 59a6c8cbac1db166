// The cpu's tile kernels of attentions, by SIMD level.
#pragma once

#include "cpu/simd_level.h"
#include "vm/run/tile_kernel.h"

namespace dvm::cpu {

void fill_attention(SimdLevel level, vm::KernelTable& table);

}  // namespace dvm::cpu
