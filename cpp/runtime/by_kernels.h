// Ops of class whole along dense lines, by way of a target's tile kernels: elementwise instructions
// and reductions of blocks. Each says whether (or where) it has an answer; without one the plain
// loops have it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/graph.h"
#include "vm/tile_kernel.h"

namespace dvm::runtime {

// argmax or argmin of `count` adjacent elements: the first that no other beats, or the first NaN.
int64_t find_extreme(const vm::KernelTable& kernels, core::Op op, core::DType dtype,
                     const std::byte* line, int64_t count);

// Combines `count` rows of `side` adjacent elements, `step` bytes apart, with those at y, in order.
bool fold_rows(const vm::KernelTable& kernels, core::Op with, core::DType dtype,
               const std::byte* rows, int64_t count, int64_t side, int64_t step, std::byte* y);

// Combines `count` adjacent elements with the one at y, where any order gives the same.
bool fold_line(const vm::KernelTable& kernels, core::Op with, core::DType dtype,
               const std::byte* line, int64_t count, std::byte* y);

}  // namespace dvm::runtime
