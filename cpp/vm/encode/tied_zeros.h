// Extremes of floats where zeros of both signs tie. They are equal, so that the order of
// comparisons decides which one an extreme is, and NumPy's order depends on the layout of memory
// and the width of its vectors. So targets say when it matters (core::kTiedZeros): the result is
// NumPy's to find.
#pragma once

#include "vm/run/tile_kernel.h"

namespace dvm::vm {

// Whether the instruction is a reduction that can meet them.
constexpr bool may_tie_zeros(const Instruction& insn) {
  return is_extreme(insn.insn) && core::is_floating(insn.dtype);
}

// Whether it has, for an output at least: asked of such a one after its kernel has run.
bool has_tied_zeros(const Instruction& insn, const TileArgs& args);

}  // namespace dvm::vm
