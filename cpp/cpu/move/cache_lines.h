// Long operands in whole cache lines: a vector that lies across two takes twice as long, and memory
// from malloc begins anywhere. So the elements before the first whole line are a part of their own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/math/basis.h"
#include "vm/run/tile_kernel.h"

namespace dvm::cpu {

// The operands of an elementwise instruction: arrays of so many bytes per element.
struct ElementSizes {
  int arity;
  int64_t result, source;

  template <int kArity, typename Result, typename Source>
  static constexpr ElementSizes of() {
    return {kArity, sizeof(Result), sizeof(Source)};
  }
  constexpr int64_t wider() const { return std::max(result, source); }
};

// A loop over the elements of a tile, compiled per op, dtype and choice of scalar operands.
using Loop = void (*)(const vm::TileArgs&);

// Calls `loop` for one or two parts that make up all elements.
void run_in_whole_lines(const vm::TileArgs& args, const ElementSizes& sizes, Loop loop);

// In bytes: a part of its own takes about as long as 30 vectors across two lines.
inline constexpr int64_t kLongOperand = 4096;

DVM_ALWAYS_INLINE void in_cache_lines(const vm::TileArgs& args, const ElementSizes& sizes,
                                      Loop loop) {
  if (args.size * sizes.wider() < kLongOperand) return loop(args);
  run_in_whole_lines(args, sizes, loop);
}

}  // namespace dvm::cpu
