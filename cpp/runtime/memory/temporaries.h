// Memory for the temporaries of Plans, aligned to 64 bytes. Where the sizes of a run are known, one
// block has room for all of them (Arena); which may share bytes is told by a run of the same sizes,
// whose temporaries are blocks of their own (BlockCache), and noted by these. Each is of one
// context, so no lock; in steady state no heap allocation. Large blocks come from the pool of the
// process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/memory/placement.h"

namespace dvm::runtime {

// Blocks in classes, eight to each doubling (at most 12.5 % waste), kept for the next taker when
// they are given back.
class BlockCache {
 public:
  BlockCache() = default;
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // At least `bytes`; null where the system has none left. 0 <= bytes <= core::kDimMax.
  std::byte* take(int64_t bytes);
  void give(std::byte* block, int64_t bytes);  // as they were taken

  // From here on what is taken is noted, in that order; until `stop_noting`.
  void note();
  // A moment is when a block is taken: what is given back before that need not live any more.
  std::span<const Temporary> noted() const { return noted_; }
  void stop_noting() { is_noting_ = false; }

 private:
  // A free block holds the link to the next one of its size.
  struct Free {
    Free* next;
  };
  struct Living {
    const std::byte* block;
    size_t noted;
  };
  std::byte* find(int64_t bytes);
  void note_end(const std::byte* block);

  std::array<Free*, 96> free_ = {};
  int64_t free_bytes_ = 0;
  bool is_noting_ = false;
  std::vector<Temporary> noted_;
  std::vector<Living> living_;
};

// One block at a time. A small one stays for the next run, so that most runs allocate nothing.
class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* take(int64_t bytes);  // null where the system has none left
  void give();                     // what was taken, if anything was

 private:
  std::byte* kept_ = nullptr;
  int64_t kept_bytes_ = 0;
  std::byte* pooled_ = nullptr;  // while it is taken
};

}  // namespace dvm::runtime
