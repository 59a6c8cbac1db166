// The bytes that strides reach.
#pragma once

#include <cstdint>

namespace dvm::core {

// [low, high) from the first of the elements, whose width `high` begins with.
struct ByteRange {
  int64_t low = 0, high = 0;

  // Besides along a dim of `size` >= 1 elements.
  constexpr void repeat(int64_t size, int64_t stride) {
    const int64_t last = (size - 1) * stride;
    (last < 0 ? low : high) += last;
  }
};

}  // namespace dvm::core
