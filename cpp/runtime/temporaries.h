// Memory for the temporaries of Plans: blocks of powers of two, aligned to 64 bytes (a cache line
// and a SIMD register), kept for the next call when they are given back. One cache per context, so
// no lock; in steady state no heap allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dvm::runtime {

class BlockCache {
 public:
  BlockCache() = default;
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // At least `bytes`; null where the system has none left. 0 <= bytes <= core::kDimMax.
  std::byte* take(int64_t bytes);
  void give(std::byte* block, int64_t bytes);  // as they were taken

  int64_t cached_bytes() const { return cached_bytes_; }

 private:
  // A free block holds the link to the next one of its size.
  struct Free {
    Free* next;
  };
  std::array<Free*, 64> free_ = {};
  int64_t cached_bytes_ = 0;
};

// Beyond this a block goes back to the system: what a rare large call needed is not kept for good.
inline constexpr int64_t kMaxCachedBytes = int64_t{1} << 28;

}  // namespace dvm::runtime
