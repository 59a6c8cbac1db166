// Products of matrices, C = A B and C += A B: register tiles over packed panels or over the
// operands where they lie. Who calls them cuts a product into blocks that fit the caches and shares
// those out.
//
// An element of C is the sum of runs of k, kRun elements long, which are added first to last, to
// what C holds if the block `adds`. A run is one chain: c = a[0] b[0], then c = a[1] b[1] + c, each
// step rounded once where the level has fused arithmetic. So errors are as small as if most
// products were added in pairs, and the bits are the same whatever the blocks, panels, edges and
// threads are. Two functions have another order, which depends on the kind, the level and the
// machine alone:
//   multiply  of bf16 where the processor is fast at pairs of them or at tiles: a step is `depth`
//             elements of k, as vdpbf16ps or tdpbf16ps defines it, for both of which subnormal
//             factors, products and sums are zeros. None raises a flag. A run is kRun steps, of
//             tiles all of k.
//   dots      in kDotBytes of lanes, element l to lane l modulo their number; then the lanes fold
//             by halves, and last comes what C holds.
// A block that is not the last one along k has a multiple of kRun * `depth` of it.
// What fills up the edges of panels never reaches C, but may raise `invalid` beside an infinity.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/ops/dtype.h"
#include "core/ops/precision.h"
#include "cpu/simd_level.h"

namespace dvm::cpu {

inline constexpr int64_t kRun = 128;

enum class MatmulKind : uint8_t {
#define DVM_MATMUL_KIND(name, stored, sum) name,
#include "cpu/matmul/matmul_kinds.def"
#undef DVM_MATMUL_KIND
};

// Strides are in bytes, and may be zero or negative.
struct MatrixView {
  const std::byte* data = nullptr;
  int64_t row_stride = 0, column_stride = 0;
};

struct MatmulBlock {
  int64_t m, k, n;
  // Where `packed_a` is null, A is read in place: any strides if `depth` is 1, else elements that
  // are adjacent along k. Where `packed_b` is, B: its columns adjacent. Nothing beside the elements
  // is read.
  const std::byte *packed_a = nullptr, *packed_b = nullptr;
  MatrixView a = {}, b = {};
  std::byte* c;  // rows of adjacent elements, which overlap nothing else
  int64_t c_row_stride;
  bool adds;
  // Of panels that have more k than the block; 0: none has.
  int64_t b_panel_stride = 0;
  // Where rows of B begin, in bytes from b.data on, if they do not lie b.row_stride apart. Up to
  // `nr` columns behind the last one may be read. For kernels with `lists_rows`.
  const int32_t* b_rows = nullptr;
};

// Rows of A and columns of B, both adjacent elements, to any place of C.
struct DotBlock {
  int64_t m, k, n;
  MatrixView a, b;
  std::byte* c;
  int64_t c_row_stride, c_column_stride;
  bool adds;
};
inline constexpr int kDotBytes = 128;

// Rows of B that a register tile asks for this far ahead: where they lie apart, nobody else does.
inline constexpr int64_t kRowsAhead = 16;

// Panels lie one behind the other: `mr` rows of A, or `nr` columns of B, for all k of the block,
// one unit after the other. A unit is what a row has at `depth` elements of k, `unit_bytes` of it.
// The last panel and the last units are filled up with zeros.
struct MatmulKernels {
  int mr, nr;  // of the register tile
  int64_t unit_bytes;
  int depth;
  bool reads_a_in_place;  // multiply does, of whole units; if not, A is packed
  bool lists_rows;        // multiply reads rows of B at places that are listed
  int64_t in_place_rows;  // of A, for which it does not pay to pack B; 0: multiply cannot
  int64_t deep;           // of k, that blocks had best have: a multiple of `depth`
  int64_t b_bytes;        // of a block of B, at most
  void (*pack_a)(const MatrixView& a, int64_t m, int64_t k, std::byte* packed) noexcept;
  void (*pack_b)(const MatrixView& b, int64_t k, int64_t n, std::byte* packed) noexcept;
  void (*multiply)(const MatmulBlock& block) noexcept;
  // A and B in place. Reads rows of B from end to end, which memory likes best, and C again for
  // every few of them.
  void (*multiply_few_rows)(const MatmulBlock& block) noexcept;
  void (*dots)(const DotBlock& block) noexcept;

  // From one panel to the next.
  int64_t a_panel_bytes(int64_t k) const { return mr * units(k) * unit_bytes; }
  int64_t b_panel_bytes(int64_t k) const { return nr * column_bytes(k); }
  int64_t column_bytes(int64_t k) const { return units(k) * unit_bytes; }
  int64_t packed_a_bytes(int64_t m, int64_t k) const {
    return (m + mr - 1) / mr * a_panel_bytes(k);
  }
  int64_t packed_b_bytes(int64_t k, int64_t n) const {
    return (n + nr - 1) / nr * b_panel_bytes(k);
  }

 private:
  int64_t units(int64_t k) const { return (k + depth - 1) / depth; }
};

const MatmulKernels& matmul_kernels(SimdLevel level, MatmulKind kind);
// Of f32 whose blocks may round factors, as they do where that is faster; few rows and dots do not.
//   medium  to bf16
//   high    to a sum of two bf16, x = x0 + x1: a product is x0 y1 + x0 y0 + x1 y0. For NaN that
//           comes of it x0 y0 is taken instead, so that infinities are what they are in f32.
const MatmulKernels& f32_matmul_kernels(SimdLevel level, core::Precision precision);
// Those of an instruction.
const MatmulKernels& matmul_kernels(SimdLevel level, core::DType sums, core::DType elements,
                                    core::Precision precision);
// By tiles of matrices, of processors that have them; null: the level amx has none of that kind.
const MatmulKernels* amx_matmul_kernels(MatmulKind kind, core::Precision precision);

}  // namespace dvm::cpu
