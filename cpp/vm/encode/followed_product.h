// A product of matrices and the steps behind it as a leader with followers (vm/target/launch.h):
// the steps go over each tile of the product while that is in the second cache, and what is between
// them is never an array. Likewise the steps before it, whose Programs are makers of the rows that
// a tile multiplies.
#pragma once

#include "vm/encode/encode.h"

namespace dvm::vm {

// Where the left factor is that the Kernel makes (Kernel::before), if it makes one.
enum class MadeFactor : uint8_t { in_tiles, in_memory };

// Appends the Programs of a Kernel that has a product and steps, or makers of a factor. False, and
// nothing is appended, where the steps cannot follow tile by tile: they reduce other things than
// rows, go over other dims (what they read may keep batches apart that are rows of one matrix for
// the product, whose order of sums is that of its own sizes), the target reads no matrices in
// place, or a factor `in tiles` would take longer. `request`, if there is one, is for the tiles of
// a product on the cube.
bool encode_followed_product(const Kernel& kernel, const Binding& binding, MadeFactor factor,
                             const TargetTraits& target, const TileRequest* request, Arena& arena,
                             Compiled& compiled);

}  // namespace dvm::vm
