// Programs of products of matrices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "vm/isa/program.h"
#include "vm/target/target.h"
#include "vm/tile/contraction.h"

namespace dvm::vm {

// How a product is computed: tiles of the result of m by n elements, in steps of k.
struct ProductTiling {
  int64_t m, n, k;
};
ProductTiling tile_product(const Contraction& product, const TargetTraits& target);

// Where a target reads and writes matrices in place, a tile is one instruction; elsewhere, and of
// matrices that lie in other ways than row by row or column by column, a loop over k that loads
// both factors into the memories beside the cube. Nothing in the product may be empty. Throws
// UnsupportedError where a limit of Programs is exceeded.
Program encode_product(const Contraction& product, const ProductTiling& tiling,
                       const TargetTraits& target, std::span<uint64_t> words);

}  // namespace dvm::vm
