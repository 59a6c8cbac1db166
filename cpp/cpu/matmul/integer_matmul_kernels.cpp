// Products of matrices of integers: unsigned, so that they wrap.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/matmul/integer_matmul_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include "cpu/matmul/by_level.h"
#include "cpu/matmul/table-inl.h"

#if DVM_LEVEL_IS_HERE

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

const MatmulKernels& i8_matmul() {
#if HWY_TARGET == HWY_AVX3
  static const bool vnni = __builtin_cpu_supports("avx512vnni");
  if (vnni) return matmul::kTable<matmul::BytesByVnni, matmul::Bytes, matmul::Bytes>;
#endif
  return matmul::kTable<matmul::Bytes>;
}
const MatmulKernels& i32_matmul() { return matmul::kTable<matmul::Plain<uint32_t>>; }
const MatmulKernels& i64_matmul() { return matmul::kTable<matmul::Plain<uint64_t>>; }

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if DVM_CHOOSES_LEVEL
namespace dvm::cpu {
DVM_MATMUL_BY_LEVEL(i8_matmul)
DVM_MATMUL_BY_LEVEL(i32_matmul)
DVM_MATMUL_BY_LEVEL(i64_matmul)
}  // namespace dvm::cpu
#endif
