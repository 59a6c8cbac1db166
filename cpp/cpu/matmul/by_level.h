// The kernels of one kind, of the level that is asked for: what the files of kernels end with,
// under
// `#if DVM_CHOOSES_LEVEL`. `name`: a function in the namespace of each level.
#pragma once

#include "cpu/matmul/matmul_kernels.h"
#include "hwy/highway.h"

namespace dvm::cpu {

#define DVM_MATMUL_KIND(name, stored, sum) const MatmulKernels& name##_matmul(SimdLevel level);
#include "cpu/matmul/matmul_kinds.def"
#undef DVM_MATMUL_KIND
const MatmulKernels& rounding_matmul(SimdLevel level);  // of f32, of precision `medium`

}  // namespace dvm::cpu

#if HWY_ARCH_X86
#define DVM_MATMUL_BY_LEVEL(name)              \
  namespace HWY_NAMESPACE {                    \
  const MatmulKernels& name();                 \
  }                                            \
  const MatmulKernels& name(SimdLevel level) { \
    switch (level) {                           \
      case SimdLevel::amx:                     \
      case SimdLevel::avx512:                  \
        return N_AVX3::name();                 \
      case SimdLevel::avx2:                    \
        return N_AVX2::name();                 \
      case SimdLevel::portable:                \
        return HWY_STATIC_DISPATCH(name)();    \
    }                                          \
    __builtin_unreachable();                   \
  }
#else
#define DVM_MATMUL_BY_LEVEL(name) \
  const MatmulKernels& name(SimdLevel) { return HWY_STATIC_DISPATCH(name)(); }
#endif
