// The memory that the instruction `matmul` works in on the cpu: blocks of packed panels.
#pragma once

#include <cstdint>

namespace dvm::cpu {

// Of each thread. A block of A stays in the second cache; one of B (MatmulKernels::b_bytes) goes by
// it panel by panel, and the wider it is the less often A is packed.
inline constexpr int64_t kPackedABytes = 384 << 10, kPackedBBytes = 2 << 20;
inline constexpr int64_t kMatmulScratchBytes = kPackedABytes + kPackedBBytes;

}  // namespace dvm::cpu
