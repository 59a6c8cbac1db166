// Where temporaries lie that share one block of memory: two that live at one time share no byte.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dvm::runtime {

// Of a cache line and a SIMD register: where every temporary begins.
inline constexpr int64_t kAlignment = 64;

struct Temporary {
  int64_t bytes;
  int32_t begin, end;  // lives from the one moment until before the other
};

struct Placement {
  std::vector<int64_t> offsets;  // of each temporary
  int64_t bytes = 0;             // of the block
};

// The smaller of two: which one that is depends on the program.
Placement place(std::span<const Temporary> temporaries);
// The largest temporary first, each into the smallest gap that takes it.
Placement place_by_size(std::span<const Temporary> temporaries);
// Likewise, but first what lives at the moment at which most bytes do.
Placement place_by_breadth(std::span<const Temporary> temporaries);
// No placement has fewer bytes than what lives at one moment.
int64_t least_bytes(std::span<const Temporary> temporaries);

// Throws InternalError where temporaries that live at one time share bytes, or one is not aligned,
// or not within the block. Goes its own way, by moments.
void verify(std::span<const Temporary> temporaries, const Placement& placement);

}  // namespace dvm::runtime
