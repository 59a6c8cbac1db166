// The Stage of the steps behind a product of matrices, cut along the tiles of the product: outer
// dims count those, inner ones are the elements of one, so that each tile of the Stage belongs to
// one of the product, and those of one follow each other.
#pragma once

#include <cstdint>

#include "vm/tile/bind.h"
#include "vm/tile/contraction.h"

namespace dvm::vm {

// Tiles of a product that are all alike, among its rows and columns of tiles.
struct ProductTiles {
  struct Side {
    int64_t step;  // elements from one tile to the next
    int64_t first, count;
    int64_t elements;  // of one
  };
  Side m, n;
};

// A Stage of what is not merged yet (bind_unmerged), and what its dims are.
struct UnmergedStage {
  const Stage& stage;
  const int* dims;
};

// Whether reductions, if there are any, take rows of the product and nothing else.
bool reduces_rows(const UnmergedStage& behind, const Contraction& product);

// Makes `cut`, which reads what the product hands over from operand `product.result`: one tile,
// dense. False where the Stage goes over other dims than the product, or in another order.
bool cut_along(const UnmergedStage& behind, const Contraction& product, const ProductTiles& tiles,
               Stage& cut);

}  // namespace dvm::vm
