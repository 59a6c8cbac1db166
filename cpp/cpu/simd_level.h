// Which SIMD instructions the cpu's kernels use: the best that the machine has, unless DVM_SIMD
// asks for a lower level, which is how tests run each of them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dvm::cpu {

enum class SimdLevel : uint8_t {
#if defined(__x86_64__)
#define DVM_SIMD_LEVEL(name, features) name,
#include "cpu/simd_levels.def"
#undef DVM_SIMD_LEVEL
#endif
  portable
};
inline constexpr int kSimdLevelCount = static_cast<int>(SimdLevel::portable) + 1;

std::string_view to_string(SimdLevel level);
// Whether it rounds a * b + c once, and functions have the same bits as on simulated targets.
bool has_fused_arithmetic(SimdLevel level);
// Whether it multiplies bf16 and i8, and f32 of lower precision, by tiles of matrices.
bool has_matrix_tiles(SimdLevel level);
// Those this machine can run, best first.
const std::vector<SimdLevel>& simd_levels();

// The one in use. The first call reads DVM_SIMD, and throws UnsupportedError where that names no
// level of this machine.
SimdLevel simd_level();
void set_simd_level(SimdLevel level);  // one of simd_levels()

}  // namespace dvm::cpu
