// Which Regions may write their result over one of their inputs.
#pragma once

#include "core/graph/graph.h"

namespace dvm::runtime {

// Whether each element of input number `input` is read for the element of the one result that lies
// in the same place, and for no other. Tiles do not share elements then, and within a tile the
// result is written by the last step of all, so nothing is read that was written over.
bool may_write_over(const core::Graph& body, size_t input);

}  // namespace dvm::runtime
