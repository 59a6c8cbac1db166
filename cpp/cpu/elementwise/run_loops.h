// Instructions of one and two operands by their loops: what is the same for all ops, dtypes and
// SIMD levels.
#pragma once

#include "cpu/move/cache_lines.h"
#include "vm/run/tile_kernel.h"

namespace dvm::cpu {

// A scalar operand makes one element, repeated.
void run_unary(const vm::TileArgs& args, const ElementSizes& sizes, Loop loop);

struct BinaryLoops {
  ElementSizes sizes;
  Loop arrays, scalar_first, scalar_second;
  bool commutes;  // a scalar comes second then
};
void run_binary(const vm::TileArgs& args, const BinaryLoops& loops);

struct CompareLoops {
  BinaryLoops eq, ne, lt, le;
};
void run_compare(const vm::TileArgs& args, const CompareLoops& loops);

// The first element of the result, repeated.
void repeat_first(const vm::TileArgs& args, int64_t bytes);

}  // namespace dvm::cpu
