// The cpu's kernels that find where a value is.
#pragma once

#include "cpu/simd_level.h"
#include "vm/run/find_kernel.h"

namespace dvm::cpu {

const vm::FindTable& find_table(SimdLevel level);

}  // namespace dvm::cpu
