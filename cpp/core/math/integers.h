// Division of counts into pieces.
#pragma once

#include <cstdint>

namespace dvm::core {

// Pieces of `size` that `count` >= 0 elements make, the last of which may be short.
constexpr int64_t ceil_div(int64_t count, int64_t size) { return (count + size - 1) / size; }
constexpr int64_t round_up(int64_t count, int64_t size) { return ceil_div(count, size) * size; }

}  // namespace dvm::core
