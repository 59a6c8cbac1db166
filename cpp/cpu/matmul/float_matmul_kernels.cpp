// Products of matrices of floats.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/matmul/float_matmul_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include "cpu/matmul/by_level.h"
#include "cpu/matmul/table-inl.h"

#if DVM_LEVEL_IS_HERE

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

const MatmulKernels& f32_matmul() { return matmul::kTable<matmul::Plain<float>>; }
const MatmulKernels& rounding_matmul() {
#if HWY_TARGET == HWY_AVX3
  using Pairs = matmul::RoundedPairs;
  if (matmul::has_fast_pairs()) return matmul::kTable<Pairs, Pairs, matmul::Plain<float>>;
#endif
  return f32_matmul();
}
const MatmulKernels& f64_matmul() { return matmul::kTable<matmul::Plain<double>>; }

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if DVM_CHOOSES_LEVEL
namespace dvm::cpu {
DVM_MATMUL_BY_LEVEL(f32_matmul)
DVM_MATMUL_BY_LEVEL(f64_matmul)
DVM_MATMUL_BY_LEVEL(rounding_matmul)
}  // namespace dvm::cpu
#endif
