// Windows of x, the right matrix of a convolution (vm::WindowWords), as rows of adjacent elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vm/isa/program.h"

namespace dvm::cpu {

// Rows [row, row + rows) and columns [column, column + columns) of the matrix.
struct WindowBlock {
  int64_t row, rows, column, columns;
};
// Elements have 1, 2, 4 or 8 bytes; rows of `out` lie `out_stride` bytes apart.
void copy_windows(const vm::WindowWords& words, const std::byte* x, const WindowBlock& block,
                  int64_t element, std::byte* out, int64_t out_stride) noexcept;

}  // namespace dvm::cpu
