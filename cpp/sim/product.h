// Products of matrices on simulated cores. Each sum is added up in the order of k, as
// vm::plain_matmul does it element by element; here many sums go along at once.
#pragma once

#include "vm/run/tile_kernel.h"

namespace dvm::sim {

void fill_products(vm::KernelTable& table);

}  // namespace dvm::sim
