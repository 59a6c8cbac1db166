// The table of a kind's kernels, for one SIMD level.
#if defined(DVM_CPU_MATMUL_TABLE) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_MATMUL_TABLE
#undef DVM_CPU_MATMUL_TABLE
#else
#define DVM_CPU_MATMUL_TABLE
#endif

#include "cpu/matmul/line_copies-inl.h"
#include "cpu/matmul/pack-inl.h"
#include "cpu/matmul/product_tile.h"
#include "cpu/matmul/register_tile-inl.h"
#include "cpu/matmul/thin-inl.h"
#include "cpu/matmul/window_row-inl.h"
#include "vm/isa/program.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE::matmul {

template <typename Kind>
void pack_a(const MatrixView& a, int64_t m, int64_t k, std::byte* packed) noexcept {
  Pack<Kind, kRows>::run(a.data, a.row_stride, a.column_stride, m, k, packed);
}
template <typename Kind>
void pack_b(const MatrixView& b, int64_t k, int64_t n, std::byte* packed) noexcept {
  static_assert(vm::kPackedColumns % Multiply<Kind>::kNr == 0, "panels fill a packed matrix");
  Pack<Kind, Multiply<Kind>::kNr>::run(b.data, b.column_stride, b.row_stride, n, k, packed);
}

template <typename Kind>
inline constexpr bool kSumsWindows =
    std::is_same_v<Kind, Plain<float>> || std::is_same_v<Kind, Plain<double>>;
template <typename Kind>
constexpr int64_t window_along() {
  if constexpr (kSumsWindows<Kind>) return WindowSums<typename Kind::Sum>::kMostAlong;
  return 0;
}
template <typename Kind>
void window_row([[maybe_unused]] const WindowRow& block) noexcept {
  if constexpr (kSumsWindows<Kind>) WindowSums<typename Kind::Sum>::run(block);
}

// By bits, whatever they mean.
template <typename Kind>
using OfUnitSize = std::conditional_t<sizeof(typename Kind::Unit) == 8, double, float>;

// What a kind does as another one does, it has from there.
template <typename Kind, typename PacksAs = Kind, typename OfFewRows = Kind>
inline constexpr MatmulKernels kTable = {.mr = kRows,
                                         .nr = Multiply<Kind>::kNr,
                                         .unit_bytes = sizeof(typename Kind::Unit),
                                         .depth = Kind::kDepth,
                                         .reads_a_in_place = !Kind::kConverts,
                                         .lists_rows = Multiply<Kind>::kLists,
                                         .in_place_rows = kRows* Kind::kTilesInPlace,
                                         .deep = 512 * Kind::kDepth,
                                         .b_bytes = kPackedBBytes,
                                         .window_along = window_along<Kind>(),
                                         .pack_a = pack_a<PacksAs>,
                                         .pack_b = pack_b<PacksAs>,
                                         .multiply = Multiply<Kind>::run,
                                         .multiply_few_rows = ByRows<OfFewRows>::run,
                                         .dots = Dots<OfFewRows>::run,
                                         .window_row = window_row<Kind>,
                                         .copy_lines = copy_lines<OfUnitSize<Kind>>};

}  // namespace dvm::cpu::HWY_NAMESPACE::matmul
HWY_AFTER_NAMESPACE();

#endif
