// What an array of conditions chooses, in order.
#pragma once

#include "runtime/host.h"
#include "vm/target/target.h"

namespace dvm::runtime {

// The elements along an axis of `a` at which the mask, of rank 1, is true. False where sizes
// disagree, or the result is not for as many as there are; nothing is written then.
bool run_compress(const BufferView& a, const BufferView& mask, const BufferView& result, int axis,
                  vm::Target& target);

// The positions at which a mask of rank 1 is true. False as above.
bool run_nonzero(const BufferView& mask, const BufferView& result, vm::Target& target);

}  // namespace dvm::runtime
