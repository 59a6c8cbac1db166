// How a product of matrices is cut into tiles, and which of its matrices an instruction can read
// and write where they lie.
#pragma once

#include <cstdint>
#include <optional>

#include "vm/target/target.h"
#include "vm/tile/contraction.h"

namespace dvm::vm {

// A matrix in memory: its size, and the bytes from one row and from one column to the next.
struct Matrix {
  int64_t rows, columns;
  int64_t row_stride, column_stride;
  DType dtype;

  int64_t element() const { return core::byte_size(dtype); }
  // What a stream that lies so is for an instruction; none where it lies in neither way.
  std::optional<Operand> in_place(const Operand& stream) const;
};

// The three matrices of a product.
struct Matrices {
  explicit Matrices(const Contraction& of);
  // Whether instructions of the target can read and write them where they lie.
  bool are_in_place(const TargetTraits& target) const;

  Matrix a, b, result;
  bool has_windows;  // instead of b
};

// Tiles of the result of m by n elements, in steps of k. Where an instruction computes a tile, each
// step is a product of its own, in a workspace (product_parts.h).
struct ProductTiling {
  int64_t m, n, k;
};
bool adds_up_parts(const Contraction& product, const ProductTiling& tiling,
                   const TargetTraits& target);
// Nanoseconds of a multiply-add, and of reading an element of a for the columns of a tile, by the
// cost table: where an instruction computes tiles, perhaps by tiles of matrices.
struct ProductRates {
  bool by_tiles;
  double multiply_add, read_a;
};
ProductRates product_rates(DType sums, DType source, core::Precision precision, bool matrix_tiles);
// `copied`: elements that a tile copies of b, for each that b has.
double product_tile_ns(const ProductRates& rates, int64_t m, int64_t n, int64_t k, double copied);
// That number: none of a packed matrix; of windows, x has an element for all places in them.
double copied_share(bool is_packed, const WindowWords* windows);

ProductTiling tile_product(const Contraction& product, const TargetTraits& target);

// The same where steps follow on each tile, which then has to stay in the second cache; with
// `whole_rows` these need all columns in it. None where there are no such tiles.
std::optional<ProductTiling> tile_followed_product(const Contraction& product, bool whole_rows,
                                                   const TargetTraits& target);

// The same where the rows of a are made for each tile and stay in the second cache, beside the tile
// itself if steps `follow`. Tiles hold all columns then, so that each row is made once. None also
// where it takes less time to write all of a to memory first: the columns that a tile of few rows
// multiplies have to be read again for each.
std::optional<ProductTiling> tile_made_product(const Contraction& product, bool follow,
                                               const TargetTraits& target);

// Whether a packed copy of b is of use: few rows read it as fast where it lies, the parts of a
// product that is cut along k begin within panels, and only instructions that take matrices in
// place read it.
bool reads_packed(const Contraction& product, const ProductTiling& tiling,
                  const TargetTraits& target);

}  // namespace dvm::vm
