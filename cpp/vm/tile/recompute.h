// Values that are computed twice rather than kept: where steps before and behind a
// reduction read the difference of two operands, a second subtraction takes less time than to write
// all of it to memory and to read it again. So the centered elements of a layer norm are.
#pragma once

#include "vm/tile/bind.h"

namespace dvm::vm {

// Repeats such steps behind reductions. Tiles must hold the reduced dims in full, for a target
// whose operands are streams: there reading an operand once more takes no room.
void repeat_behind_reductions(Stage& stage);

}  // namespace dvm::vm
