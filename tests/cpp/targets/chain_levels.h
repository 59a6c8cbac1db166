// What levels of the cpu have no bodies of chains for.
#pragma once

#include "cpu/simd_level.h"

namespace dvm::testing {

// AVX2 shifts no 64-bit integers by their sign, and casts none to or from floats (bodies.def).
inline bool lacks_wide_integers() { return cpu::to_string(cpu::simd_level()) == "avx2"; }

}  // namespace dvm::testing
