// Ops of class whole as Programs, on targets whose kernels run in no other way: the simulated ones.
#pragma once

#include "runtime/host.h"
#include "vm/target/target.h"

namespace dvm::runtime {

// Ops gather and take_along, of operands that agree and whose indices are all there. False where a
// kernel finds that one is not.
bool gather_by_program(core::Op op, const BufferView& a, const BufferView& indices,
                       const BufferView& result, int axis, vm::Target& target);

}  // namespace dvm::runtime
