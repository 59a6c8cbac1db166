// Ops of class whole along dense lines, by way of a target's tile kernels: elementwise instructions
// and reductions of blocks. Each says whether (or where) it has an answer; without one the plain
// loops have it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/graph/graph.h"
#include "vm/target/target.h"

namespace dvm::runtime {

// Where argmax and argmin put the positions they find, `step` bytes apart.
struct Places {
  void* data;
  int64_t step;
  int64_t& operator[](int64_t i) const {
    return *reinterpret_cast<int64_t*>(static_cast<std::byte*>(data) + i * step);
  }
};

// argmax or argmin of each of `rows` adjacent rows of `count` adjacent elements: the first that no
// other beats, or the first NaN.
void find_in_rows(const vm::Target& target, core::Op op, core::DType dtype, const std::byte* lines,
                  int64_t rows, int64_t count, Places places);
// The same of each of `side` columns of `count` rows, `step` bytes apart.
void find_in_columns(const vm::KernelTable& kernels, core::Op op, core::DType dtype,
                     const std::byte* lines, int64_t count, int64_t side, int64_t step,
                     Places places);

// Rows of adjacent elements, `step` bytes apart.
template <typename Byte>
struct Rows {
  Byte* data;
  int64_t step;
};
// Combines each of `count` rows of `side` elements with that of y in its place, in order. The next
// row of y gets the result, which is the same one if its step is 0.
bool combine_rows(const vm::KernelTable& kernels, core::Op with, core::DType dtype,
                  Rows<const std::byte> x, Rows<std::byte> y, int64_t count, int64_t side);

// Combines `count` adjacent elements with the one at y, where any order gives the same.
bool fold_line(const vm::KernelTable& kernels, core::Op with, core::DType dtype,
               const std::byte* line, int64_t count, std::byte* y);

}  // namespace dvm::runtime
