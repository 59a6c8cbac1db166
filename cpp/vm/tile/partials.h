// Reductions that need more than one Stage: the first stores something smaller or simpler than the
// result in a workspace, the next one reduces that. The bits of the result are those of
// core/ops/sum_order.h either way.
#pragma once

#include <cstdint>

#include "vm/tile/bind.h"

namespace dvm::vm {

// Where a Stage leaves what the next one reads: a tensor operand of the Program.
struct Workspace {
  int16_t global;
  int64_t bytes = 0;  // filled in
};

// The dtype in which partial results of a reduction are kept; they are rounded once, at the end.
DType partial_dtype(Insn insn, DType dtype);

// Turns each reduction of `stage` into one that stores a partial result per chunk of kSumChunk, for
// a tiling with Reduction::chunks whose tiles have so many of them along the first reduced dim, and
// hold the others. `next` reduces the partials.
void store_partials(Stage& stage, Stage& next, Workspace& workspace, int64_t chunks_of_tile = 1);

// Where the chunks of store_partials() are rows of memory and there are many: makes `rows`, a Stage
// of all but the last two, whose tiles may hold several. leave_last_chunks() keeps the two in
// `stage`, the last of which may be short.
bool make_rows_of_chunks(const Stage& stage, Stage& rows);
void leave_last_chunks(Stage& stage);

// Turns each reduction of `stage` into a store of what it would reduce; `next` reduces that.
void store_sources(Stage& stage, Stage& next, Workspace& workspace);

}  // namespace dvm::vm
