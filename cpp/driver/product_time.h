// What products take on simulated cores: for tuning, which tries tiles, and for those who compare
// what was chosen. Nothing is run.
#pragma once

#include <cstdint>
#include <optional>

#include "vm/encode/cube_program.h"
#include "vm/encode/tile_pool.h"
#include "vm/target/target.h"

namespace dvm::driver {

// A product of two matrices without gaps whose sums are not rounded.
struct Product {
  core::DType source;  // of both factors
  vm::RightLies right;
  int64_t m, n, k;
};

struct ProductTime {
  vm::CubeTiling tiling;
  double cycles = 0;  // of the launch, in which memory is read for the first time
};
// In that tile, or in the one that a call would take. UnsupportedError where the target has no
// cube, or a tile exceeds a memory beside it.
ProductTime time_product(const Product& product, const vm::TargetTraits& target,
                         const std::optional<vm::CubeTiling>& tiling);

}  // namespace dvm::driver
