// Products whose k is cut into parts, so that there is work for all threads where the result is
// small: one Program computes the product of each part, another one adds them up in their order.
#pragma once

#include <cstdint>

#include "core/math/integers.h"
#include "vm/encode/product_tiling.h"
#include "vm/tile/bind.h"

namespace dvm::vm {

// How many steps of a tiling there are along k.
constexpr int64_t parts_along_k(const Contraction& product, const ProductTiling& tiling) {
  return core::ceil_div(product.k.size, tiling.k);
}

// The same product, whose result is dense and lies in operand `workspace`: that of the first part,
// behind which those of the others follow. `bytes`: of one.
Contraction product_of_part(const Contraction& product, int16_t workspace, int64_t& bytes);

// Makes the Stage that adds up `parts` such products. Sums of halves have been rounded to floats.
void add_up_parts(const Contraction& product, const Contraction& part, int64_t bytes, int64_t parts,
                  Stage& stage);

}  // namespace dvm::vm
