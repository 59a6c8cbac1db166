// Memory for large arrays, kept for the next one when it is given back. The system clears every
// page that it hands out, which costs more than most programs do with it: beyond a few MiB an
// eager library spends a quarter to three quarters of its time on page faults.
//
// Blocks come in classes, straight from mmap: whole huge pages, which the system may have, and
// eight to each doubling (at most 12.5 % waste) from 32 MiB on. Only blocks from kLeastPooled bytes
// on: malloc keeps smaller ones itself.
//
// What is mapped is never more than what was in use at one time, but for some spare bytes and for
// what blocks are larger than was asked for: with sizes that change from call to call, the resident
// set is that of a program which frees at once. Where a new block would be too much, one that waits
// is split, or goes back to the system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace dvm::runtime {

inline constexpr int64_t kLeastPooled = int64_t{1} << 20;

struct PoolStats {
  int64_t used_bytes = 0;    // of blocks that are taken
  int64_t peak_bytes = 0;    // that were asked for at one time, since the last trim()
  int64_t cached_bytes = 0;  // of blocks that wait for the next taker
  int64_t cache_limit = 0;   // most bytes that may wait
  int64_t taken = 0;         // blocks, since the start
  int64_t reused = 0;        // those of them that had waited
};

// Thread-safe.
class BufferPool {
 public:
  explicit BufferPool(int64_t cache_limit, int64_t spare = 0)
      : spare_(spare), limit_(cache_limit) {}
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // At least `bytes` on a page boundary, of undefined content; null where the system has none left.
  std::byte* take(int64_t bytes);
  void give(std::byte* block);
  // Bytes of a taken block.
  int64_t size(std::byte* block) const;

  // What waits goes back to the system, the oldest first, until `bytes` are left. What was in use
  // until then no longer counts.
  void trim(int64_t bytes);
  int64_t set_cache_limit(int64_t bytes);  // trims; returns the former limit
  PoolStats stats() const;

  // Around a fork of the process.
  void hold_for_fork();
  void go_on_after_fork();

 private:
  struct Used {
    int64_t bytes, asked;  // of the block, and of its class as it was asked for
    std::byte* area;       // the mapping that it is (a part of)
  };
  struct Waiting {
    std::byte* data;
    int64_t bytes;
    std::byte* area;
  };
  using Place = std::vector<Waiting>::iterator;

  // These need the lock.
  Place find_alike(int64_t bytes);
  Place find_smallest(int64_t bytes);
  void wait(Waiting block);
  void trim_locked(int64_t bytes);

  const int64_t spare_;
  mutable std::mutex mutex_;
  std::unordered_map<std::byte*, Used> used_;
  std::vector<Waiting> waiting_;  // in the order of their return
  int64_t used_bytes_ = 0, cached_bytes_ = 0, limit_, taken_ = 0, reused_ = 0;
  int64_t asked_ = 0, most_asked_ = 0;  // at this time, and at one time
};

// The one of the process. It is never destroyed: arrays may outlive everything else.
BufferPool& buffer_pool();

}  // namespace dvm::runtime
