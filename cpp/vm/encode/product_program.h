// Programs of products of matrices for targets without flags between their pipes.
#pragma once

#include <cstdint>
#include <span>

#include "vm/encode/product_tiling.h"
#include "vm/isa/program.h"

namespace dvm::vm {

// Where a target reads and writes matrices in place, a tile is one instruction; elsewhere, and of
// matrices that lie in other ways than row by row or column by column, a loop over k that loads
// both factors into the memories beside the cube. Nothing in the product may be empty. Throws
// UnsupportedError where a limit of Programs is exceeded.
Program encode_product(const Contraction& product, const ProductTiling& tiling,
                       const TargetTraits& target, std::span<uint64_t> words);

}  // namespace dvm::vm
