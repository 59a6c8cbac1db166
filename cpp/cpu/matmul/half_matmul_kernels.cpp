// Products of matrices of halves.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/matmul/half_matmul_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include "cpu/matmul/by_level.h"
#include "cpu/matmul/table-inl.h"

#if DVM_LEVEL_IS_HERE

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

const MatmulKernels& f16_matmul() { return matmul::kTable<matmul::Halves<core::Half>>; }

const MatmulKernels& bf16_matmul() {
#if HWY_TARGET == HWY_AVX3
  using Floats = matmul::Halves<core::BFloat16>;
  using Pairs = matmul::PairsOfBf16;
  if (matmul::has_fast_pairs()) return matmul::kTable<Pairs, Pairs, Floats>;
#endif
  return matmul::kTable<matmul::Halves<core::BFloat16>>;
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if DVM_CHOOSES_LEVEL
namespace dvm::cpu {
DVM_MATMUL_BY_LEVEL(f16_matmul)
DVM_MATMUL_BY_LEVEL(bf16_matmul)
}  // namespace dvm::cpu
#endif
