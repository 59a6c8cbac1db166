// The order in which a Stage walks its dims: as its operands lie in memory, not as the program
// numbers them. So what is all transposed is computed as if nothing were.
#pragma once

#include "vm/tile/bind.h"

namespace dvm::vm {

// Puts dims along which most operands take larger steps outside of others, and merges those that
// are one run then. A Stage that reduces has its order from that.
void order_by_strides(Stage& stage);

}  // namespace dvm::vm
