#include "runtime/buffer_pool.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "core/error.h"

namespace dvm::runtime {

namespace {

constexpr int64_t kHugePage = int64_t{1} << 21;
// Of the power of two below.
int64_t eighth(int64_t bytes) {
  return int64_t{1} << (std::bit_width(static_cast<uint64_t>(bytes - 1)) - 4);
}

// The distance of classes around `bytes`. Whole huge pages: one is there in a third of the time of
// small pages of half its size.
int64_t class_step(int64_t bytes) { return std::max(kHugePage, eighth(bytes)); }

int64_t class_bytes(int64_t bytes) {
  const int64_t step = class_step(bytes);
  return (bytes + step - 1) / step * step;
}

// The largest waiting block that serves as well: sizes that change from call to call share blocks
// instead of each keeping its own.
int64_t most_bytes(int64_t bytes) { return bytes + std::max(kHugePage, 2 * eighth(bytes)); }

std::byte* map(int64_t bytes) {
  // An area that begins on a huge page: the ends that are too much go back at once.
  void* const area = mmap(nullptr, static_cast<size_t>(bytes + kHugePage), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED) return nullptr;
  auto* block = static_cast<std::byte*>(area);
  const auto beyond = static_cast<int64_t>(reinterpret_cast<uintptr_t>(block) % kHugePage);
  const int64_t before = beyond == 0 ? 0 : kHugePage - beyond;
  if (before > 0) munmap(block, static_cast<size_t>(before));
  block += before;
  if (kHugePage > before) munmap(block + bytes, static_cast<size_t>(kHugePage - before));
#ifdef MADV_HUGEPAGE
  madvise(block, static_cast<size_t>(bytes), MADV_HUGEPAGE);  // a wish: without it, small pages
#endif
  return block;
}

void unmap(std::byte* block, int64_t bytes) { munmap(block, static_cast<size_t>(bytes)); }

// An eighth of the machine's memory, and never more than 1 GiB.
int64_t default_limit() {
  const int64_t memory = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return std::clamp(memory / 8, int64_t{0}, int64_t{1} << 30);
}

}  // namespace

BufferPool::~BufferPool() {
  trim(0);
  for (const auto& [block, bytes] : used_) unmap(block, bytes);
}

std::byte* BufferPool::take(int64_t bytes) {
  bytes = class_bytes(std::max(bytes, kLeastPooled));
  {
    const std::lock_guard lock(mutex_);
    if (std::byte* block = take_cached(bytes)) return block;
  }
  std::byte* block = map(bytes);
  if (block == nullptr) {
    // What waits may be just what is missing.
    trim(0);
    block = map(bytes);
    if (block == nullptr) return nullptr;
  }
  const std::lock_guard lock(mutex_);
  used_.emplace(block, bytes);
  used_bytes_ += bytes;
  ++taken_;
  return block;
}

// Of the blocks that fit the one that was returned last: it may be in the cache.
std::byte* BufferPool::take_cached(int64_t bytes) {
  const int64_t most = most_bytes(bytes);
  const auto last = std::find_if(free_.rbegin(), free_.rend(), [&](const auto& entry) {
    return bytes <= entry.mapped() && entry.mapped() <= most;
  });
  if (last == free_.rend()) return nullptr;
  std::byte* const block = last->key();
  cached_bytes_ -= last->mapped();
  used_bytes_ += last->mapped();
  used_.insert(std::move(*last));
  free_.erase(std::next(last).base());
  ++taken_;
  ++reused_;
  return block;
}

void BufferPool::give(std::byte* block) {
  const std::lock_guard lock(mutex_);
  Blocks::node_type entry = used_.extract(block);
  DVM_CHECK(!entry.empty(), "a block that the pool has not given out");
  const int64_t bytes = entry.mapped();
  used_bytes_ -= bytes;
  if (bytes > limit_) {
    unmap(block, bytes);
    return;
  }
  trim_locked(limit_ - bytes);
  free_.push_back(std::move(entry));
  cached_bytes_ += bytes;
}

int64_t BufferPool::size(std::byte* block) const {
  const std::lock_guard lock(mutex_);
  return used_.at(block);
}

void BufferPool::trim(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  trim_locked(bytes);
}

void BufferPool::trim_locked(int64_t bytes) {
  auto it = free_.begin();
  for (; it != free_.end() && cached_bytes_ > bytes; ++it) {
    cached_bytes_ -= it->mapped();
    unmap(it->key(), it->mapped());
  }
  free_.erase(free_.begin(), it);
}

int64_t BufferPool::set_cache_limit(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const int64_t former = limit_;
  limit_ = std::max<int64_t>(bytes, 0);
  trim_locked(limit_);
  return former;
}

PoolStats BufferPool::stats() const {
  const std::lock_guard lock(mutex_);
  return {used_bytes_, cached_bytes_, limit_, taken_, reused_};
}

void BufferPool::hold_for_fork() { mutex_.lock(); }
void BufferPool::go_on_after_fork() { mutex_.unlock(); }

BufferPool& buffer_pool() {
  static BufferPool& pool = *[] {
    auto* made = new BufferPool(default_limit());
    // A child process has the lock as it was at the fork, but no thread that would open it.
    pthread_atfork([] { buffer_pool().hold_for_fork(); }, [] { buffer_pool().go_on_after_fork(); },
                   [] { buffer_pool().go_on_after_fork(); });
    return made;
  }();
  return pool;
}

}  // namespace dvm::runtime
