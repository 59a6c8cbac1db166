// Scans and folds: the elements along an axis combined in order with any binary op, each result
// rounded to its dtype, as NumPy's accumulate and its reduce of what has no order of its own do.
#pragma once

#include <span>

#include "runtime/host.h"
#include "vm/run/tile_kernel.h"

namespace dvm::runtime {

// op: scan, fold, fold_where or fold_at, with operands and result as core/ops/ops.def says. Ranks
// and dtypes are those of a verified Plan. False where sizes disagree or an index is out of range;
// the result is undefined then. Dense lines are left to the kernels where there are some.
bool run_fold(core::Op op, core::Op with, std::span<const BufferView* const> operands,
              const BufferView& result, int axis, const vm::KernelTable* kernels);

}  // namespace dvm::runtime
