// Memory for the temporaries of Plans: blocks of powers of two, aligned to 64 bytes (a cache line
// and a SIMD register), kept for the next call when they are given back. One cache per context, so
// no lock; in steady state no heap allocation. Large ones come from the pool of the process.
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

 private:
  // A free block holds the link to the next one of its size.
  struct Free {
    Free* next;
  };
  std::array<Free*, 64> free_ = {};
};

}  // namespace dvm::runtime
