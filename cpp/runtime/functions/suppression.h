// Non-maximum suppression: of boxes that overlap, the one with the best score.
#pragma once

#include <span>

#include "runtime/host.h"

namespace dvm::runtime {

// dvm.non_max_suppression(boxes f32[n, k, 4], scores f32[n, classes, k], most i64, overlap f32,
// least f32; is_centred, has_least) -> i64[found, 3]: image, class and box, in the order of images
// and classes, then the best first, of equals the first.
//
// Boxes have two opposite corners, or a centre and sizes. Of a class there are `most` boxes at
// most, none of which shares more than `overlap` of the area that it covers together with a better
// one, and whose scores are above `least`, if there is one.
bool non_max_suppression(const HostCall& call, std::span<BufferView> results, HostCalls& host);

}  // namespace dvm::runtime
