#include "cpu/matmul/by_level.h"
#include "cpu/matmul/matmul_kernels.h"

namespace dvm::cpu {

const MatmulKernels& matmul_kernels(SimdLevel level, MatmulKind kind) {
  switch (kind) {
#define DVM_MATMUL_KIND(name, stored, sum) \
  case MatmulKind::name:                   \
    return name##_matmul(level);
#include "cpu/matmul/matmul_kinds.def"
#undef DVM_MATMUL_KIND
  }
  __builtin_unreachable();
}

}  // namespace dvm::cpu
