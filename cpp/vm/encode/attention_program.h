// Programs of the op `attention`.
#pragma once

#include <span>

#include "vm/isa/program.h"
#include "vm/target/target.h"
#include "vm/tile/attention.h"

namespace dvm::vm {

// A tile is a block of rows of q of one head. Where a target reads operands in place it is one
// instruction; elsewhere, and of operands that lie in other ways than row by row or column by
// column, a loop over rows of k and v that loads some of them at a time. The scores are in no
// memory of the Program either way. Nothing but the mask may be missing or empty. Throws
// UnsupportedError where a limit of Programs is exceeded, or one row of each operand does not fit
// local memory.
Program encode_attention(const Attention& attention, const TargetTraits& target,
                         std::span<uint64_t> words);

}  // namespace dvm::vm
