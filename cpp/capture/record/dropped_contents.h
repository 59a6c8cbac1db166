// The elements of arrays that nobody but a recording holds any more.
//
// A recording keeps every object that it saw, so that identities stay true and the lowering can ask
// for dtype, shape and layout. It never asks for the elements of an array that the program has
// dropped, so their pages go back to the system: the array, its address and its strides stay, and
// its memory reads as zeros.
#pragma once

#include <cstddef>
#include <unordered_set>
#include <vector>

#include "core/graph/recording.h"

namespace dvm::capture {

// Gives back what only the recording of these nodes holds; returns the bytes of it that could not
// be had. An array is dropped at most once: it is in `dropped` from then on.
size_t drop_contents(const std::vector<core::SeenNode>& nodes,
                     std::unordered_set<const void*>& dropped);

}  // namespace dvm::capture
