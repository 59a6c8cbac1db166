// Scans and folds: the elements along an axis combined in order with any binary op, each result
// rounded to its dtype, as NumPy's accumulate and its reduce of what has no order of its own do.
#pragma once

#include <span>

#include "runtime/host.h"
#include "vm/target/target.h"

namespace dvm::runtime {

// op: scan, fold, fold_where or fold_at, with operands and result as core/ops/ops.def says. Ranks
// and dtypes are those of a verified Plan. False where sizes disagree or an index is out of range;
// the result is undefined then. Dense lines are left to the kernels of the target where it has
// some; of one that has none, all but fold_at are Programs: there the elements say how long its
// pieces are.
bool run_fold(core::Op op, core::Op with, std::span<const BufferView* const> operands,
              const BufferView& result, int axis, vm::Target& target);

}  // namespace dvm::runtime
