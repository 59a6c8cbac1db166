// A file of kernels (kernels.h) of its own, which no other has to be compiled again for.
#pragma once

#include "cpu/simd_level.h"
#include "vm/tile_kernel.h"

namespace dvm::cpu {

void fill_integer_powers(SimdLevel level, vm::KernelTable& table);

}  // namespace dvm::cpu
