#include "cpu/matmul/by_level.h"
#include "cpu/matmul/matmul_kernels.h"

namespace dvm::cpu {

namespace {

// Null: nothing of that level alone.
const MatmulKernels* of_level_alone(SimdLevel level, MatmulKind kind, core::Precision precision) {
  return has_matrix_tiles(level) ? amx_matmul_kernels(kind, precision) : nullptr;
}

}  // namespace

const MatmulKernels& matmul_kernels(SimdLevel level, MatmulKind kind) {
  if (const auto* own = of_level_alone(level, kind, core::Precision::highest)) return *own;
  switch (kind) {
#define DVM_MATMUL_KIND(name, stored, sum) \
  case MatmulKind::name:                   \
    return name##_matmul(level);
#include "cpu/matmul/matmul_kinds.def"
#undef DVM_MATMUL_KIND
  }
  __builtin_unreachable();
}

namespace {

// Bits alone decide what a product of integers is.
MatmulKind kind_of(core::DType sums, core::DType elements) {
  switch (elements) {
    case core::DType::f16:
      return MatmulKind::f16;
    case core::DType::bf16:
      return MatmulKind::bf16;
    case core::DType::f32:
      return MatmulKind::f32;
    case core::DType::f64:
      return MatmulKind::f64;
    case core::DType::i8:
      return MatmulKind::i8;
    default:
      return core::byte_size(sums) == 8 ? MatmulKind::i64 : MatmulKind::i32;
  }
}

}  // namespace

const MatmulKernels& matmul_kernels(SimdLevel level, core::DType sums, core::DType elements,
                                    core::Precision precision) {
  return precision != core::Precision::highest ? f32_matmul_kernels(level, precision)
                                               : matmul_kernels(level, kind_of(sums, elements));
}

const MatmulKernels& f32_matmul_kernels(SimdLevel level, core::Precision precision) {
  if (const auto* own = of_level_alone(level, MatmulKind::f32, precision)) return *own;
  return precision == core::Precision::medium ? rounding_matmul(level) : f32_matmul(level);
}

}  // namespace dvm::cpu
