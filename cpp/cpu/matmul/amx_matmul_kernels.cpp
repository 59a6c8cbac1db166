// Products by AMX's tiles of matrices, of a level that has those.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/matmul/amx_matmul_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include "cpu/matmul/amx_multiply-inl.h"
#include "cpu/matmul/by_level.h"
#include "cpu/matmul/product_tile.h"
#include "vm/isa/program.h"

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE::amx_kinds {

template <typename Kind>
void pack_a(const MatrixView& a, int64_t m, int64_t k, std::byte* packed) noexcept {
  PackTiles<Kind, TileOf::lines>::run(a.data, a.row_stride, a.column_stride, m, k, packed);
}
template <typename Kind>
void pack_b(const MatrixView& b, int64_t k, int64_t n, std::byte* packed) noexcept {
  static_assert(vm::kPackedColumns % kPanelLines == 0, "panels fill a packed matrix");
  PackTiles<Kind, TileOf::groups>::run(b.data, b.column_stride, b.row_stride, n, k, packed);
}

// Few rows, which wait for memory, and dots are those of the vectors. A panel of B as deep as a
// block takes two thirds of the first cache; all of B's stay in the second one beside A's.
template <typename Kind>
MatmulKernels table(const MatmulKernels& vectors) {
  constexpr int64_t kPanelRow = 32 << 10;
  return {.mr = kPanelLines,
          .nr = kPanelLines,
          .unit_bytes = int64_t{Kind::kParts} * cpu::amx::kTileRowBytes,
          .depth = Kind::kDepth,
          .reads_a_in_place = Kind::kInPlace,
          .in_place_rows = 0,
          .deep = kPanelRow / kPanelLines / (int64_t{Kind::kParts} * cpu::amx::kTileRowBytes) *
                  Kind::kDepth,
          .b_bytes = kPackedBBytes / 4,
          .pack_a = pack_a<Kind>,
          .pack_b = pack_b<Kind>,
          .multiply = MultiplyTiles<Kind>::run,
          .multiply_few_rows = vectors.multiply_few_rows,
          .dots = vectors.dots};
}

}  // namespace dvm::cpu::HWY_NAMESPACE::amx_kinds
HWY_AFTER_NAMESPACE();

#endif

#if HWY_ONCE
namespace dvm::cpu {

const MatmulKernels* amx_matmul_kernels([[maybe_unused]] MatmulKind kind,
                                        [[maybe_unused]] core::Precision precision) {
#if HWY_ARCH_X86
  namespace kinds = N_AVX3::amx_kinds;
  static const MatmulKernels bf16 = kinds::table<kinds::Bf16>(bf16_matmul(SimdLevel::avx512)),
                             i8 = kinds::table<kinds::Bytes>(i8_matmul(SimdLevel::avx512)),
                             rounded = kinds::table<kinds::Rounded>(f32_matmul(SimdLevel::avx512)),
                             split = kinds::table<kinds::Split>(f32_matmul(SimdLevel::avx512));
  if (kind == MatmulKind::bf16) return &bf16;
  if (kind == MatmulKind::i8) return &i8;
  if (kind == MatmulKind::f32 && precision == core::Precision::medium) return &rounded;
  if (kind == MatmulKind::f32 && precision == core::Precision::high) return &split;
#endif
  return nullptr;
}

}  // namespace dvm::cpu
#endif
