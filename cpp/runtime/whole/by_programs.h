// Ops of class whole as Programs, on targets whose kernels run in no other way: the simulated ones.
// Operands agree, and what an op raises is raised on the calling thread.
#pragma once

#include <span>

#include "runtime/host.h"
#include "vm/target/target.h"

namespace dvm::runtime {

// The target if it is such a one; but null where that many positions along an axis are more than a
// loop of a Program has steps. (More than 2**31: of them the host takes care everywhere.)
vm::Target* runs_programs(vm::Target& target, int64_t positions = 0);

// Ops gather and take_along, of indices that are all there. False where a kernel finds that one is
// not.
bool gather_by_program(core::Op op, const BufferView& a, const BufferView& indices,
                       const BufferView& result, int axis, vm::Target& target);

// Ops scan, fold, fold_where, argmax and argmin, the last two with anything.
void along_by_program(core::Op op, core::Op with, std::span<const BufferView* const> operands,
                      const BufferView& result, int axis, vm::Target& target);

void iota_by_programs(const BufferView& result, vm::Target& target);

}  // namespace dvm::runtime
