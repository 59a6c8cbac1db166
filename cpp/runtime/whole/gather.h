// Elements taken from, and put into, the places that indices say.
#pragma once

#include <optional>
#include <span>

#include "runtime/host.h"
#include "vm/target/target.h"

namespace dvm::runtime {

// op: gather or take_along. False where sizes disagree or an index is out of range: nothing is
// written then, for the result may be an array of the caller.
bool run_gather(core::Op op, const BufferView& table, const BufferView& indices,
                const BufferView& result, int axis, vm::Target& target);

// op: scatter or put_along, into a table that has its other elements already. In the order of the
// indices, of which several may be one: the last element stays, or all are combined with what is
// there by `with`. False as above, and nothing is written.
bool run_scatter(core::Op op, std::optional<core::Op> with, const BufferView& indices,
                 const BufferView& elements, const BufferView& table, int axis);

}  // namespace dvm::runtime
