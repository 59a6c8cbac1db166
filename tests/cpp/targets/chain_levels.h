// Which levels of the cpu chains differ at, and what they have no bodies for.
#pragma once

#include <vector>

#include "cpu/simd_level.h"

namespace dvm::testing {

// AVX2 shifts no 64-bit integers by their sign, and casts none to or from floats (bodies.def).
inline bool lacks_wide_integers() { return cpu::to_string(cpu::simd_level()) == "avx2"; }

// Those of amx are avx512's, which it has as well.
inline std::vector<cpu::SimdLevel> levels_of_chains() {
  std::vector<cpu::SimdLevel> levels = cpu::simd_levels();
  std::erase_if(levels, [](cpu::SimdLevel level) { return cpu::to_string(level) == "amx"; });
  return levels;
}

}  // namespace dvm::testing
