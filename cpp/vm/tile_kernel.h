// The signature of every tile kernel, and the table a target fills with them: Algorithm 2's
// "virtual instruction table I". One entry per instruction x dtype (of Instruction::dtype).
#pragma once

#include <cstddef>
#include <cstdint>

#include "vm/program.h"

namespace dvm::vm {

struct TileArgs {
  std::byte* dst;
  const std::byte* src[3];
  int64_t m, size, n;   // extents of this tile, tail already applied
  uint8_t scalar_mask;  // bit k: src[k] is one element that stands for all
  uint8_t aux;          // Instruction::aux
  const ViewDim* dims;  // view formats: aux dims, tail already applied; else nullptr
};
using TileKernel = void (*)(const TileArgs&);

// nullptr where isa.def allows no such dtype.
struct KernelTable {
  TileKernel at[kInsnCount][core::kDTypeCount] = {};
};

}  // namespace dvm::vm
