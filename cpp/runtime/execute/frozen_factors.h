// The right matrices of products, where they lie in frozen memory and are read in packed copies.
#pragma once

#include "runtime/host.h"
#include "runtime/memory/frozen_memory.h"
#include "vm/tile/kernel.h"

namespace dvm::runtime {

// The Region's operand that its product alone reads as its right matrix; -1: there is none.
int right_operand(const vm::Kernel& kernel);
// What that operand has in frozen memory, if all of it does.
FrozenMemory::Factor find_factor(FrozenMemory& frozen, const vm::Kernel& kernel,
                                 const BufferView& operand, const vm::Target& target);

}  // namespace dvm::runtime
