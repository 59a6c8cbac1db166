// The ops of class whole that the Plan computes itself, on arrays of any strides.
#pragma once

#include <span>

#include "runtime/host.h"
#include "vm/target/target.h"

namespace dvm::runtime {

// Ranks and dtypes are those of a verified Plan. False where sizes disagree, an index is out of
// range, or there is nothing to take the maximum of; the result is undefined then. Dense lines are
// left to the kernels of the target where it has some; of one that has none, all are Programs.
bool run_whole(core::Op op, std::span<const BufferView* const> operands, const BufferView& result,
               int axis, vm::Target& target);

}  // namespace dvm::runtime
