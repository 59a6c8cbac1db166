// The first elements of lines in order, and where they were.
#pragma once

#include <span>

#include "runtime/host.h"

namespace dvm::runtime {

// dvm.top_k(x; axis, count, is_largest) -> values, places i64, with `count` elements along the
// axis. Of equals the first comes first; NaN is greater than all numbers.
bool top_k(const HostCall& call, std::span<BufferView> results, HostCalls& host);

}  // namespace dvm::runtime
