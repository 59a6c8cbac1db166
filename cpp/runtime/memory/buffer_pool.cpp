#include "runtime/memory/buffer_pool.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>
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

// So that small arrays whose sizes take turns do not send each other's blocks back.
constexpr int64_t kSpare = int64_t{1} << 25;

// An eighth of the machine's memory, and never more than 1 GiB.
int64_t default_limit() {
  const int64_t memory = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return std::clamp(memory / 8, int64_t{0}, int64_t{1} << 30);
}

}  // namespace

BufferPool::~BufferPool() {
  trim(0);
  for (const auto& [data, block] : used_) unmap(data, block.bytes);
}

std::byte* BufferPool::take(int64_t bytes) {
  bytes = class_bytes(std::max(bytes, kLeastPooled));
  const std::lock_guard lock(mutex_);
  const int64_t most = std::max(most_asked_, asked_ + bytes);
  const int64_t beyond = used_bytes_ + cached_bytes_ + bytes - most - spare_;
  Place found = find_alike(bytes);
  const bool split = found == waiting_.end() && beyond > 0;
  if (split) found = find_smallest(bytes);
  Waiting block{};
  if (found != waiting_.end()) {
    block = *found;
    if (split) {
      block.bytes = bytes;
      found->data += bytes;
      found->bytes -= bytes;
    }
    if (!split || found->bytes == 0) waiting_.erase(found);
    cached_bytes_ -= block.bytes;
    ++reused_;
  } else {
    if (beyond > 0) trim_locked(std::max<int64_t>(cached_bytes_ - beyond, 0));
    block = {map(bytes), bytes, nullptr};
    if (block.data == nullptr) {
      // What waits may be just what is missing.
      trim_locked(0);
      block.data = map(bytes);
      if (block.data == nullptr) return nullptr;
    }
    block.area = block.data;
  }
  // NumPy's code, which calls this, has no exceptions.
  try {
    used_.emplace(block.data, Used{block.bytes, bytes, block.area});
  } catch (const std::bad_alloc&) {
    unmap(block.data, block.bytes);
    return nullptr;
  }
  used_bytes_ += block.bytes;
  asked_ += bytes;
  most_asked_ = most;
  ++taken_;
  return block.data;
}

// Of the blocks that fit the one that was returned last: it may be in the cache.
BufferPool::Place BufferPool::find_alike(int64_t bytes) {
  const int64_t most = most_bytes(bytes);
  const auto last = std::find_if(waiting_.rbegin(), waiting_.rend(), [&](const Waiting& block) {
    return bytes <= block.bytes && block.bytes <= most;
  });
  return last == waiting_.rend() ? waiting_.end() : std::next(last).base();
}

BufferPool::Place BufferPool::find_smallest(int64_t bytes) {
  Place found = waiting_.end();
  for (Place block = waiting_.begin(); block != waiting_.end(); ++block) {
    if (block->bytes < bytes) continue;
    if (found == waiting_.end() || block->bytes < found->bytes) found = block;
  }
  return found;
}

void BufferPool::give(std::byte* block) {
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(block);
  DVM_CHECK(found != used_.end(), "a block that the pool has not given out");
  const Used used = found->second;
  used_.erase(found);
  used_bytes_ -= used.bytes;
  asked_ -= used.asked;
  if (used.bytes > limit_) {
    unmap(block, used.bytes);
    return;
  }
  trim_locked(limit_ - used.bytes);
  wait({block, used.bytes, used.area});
}

// What was split is joined again.
void BufferPool::wait(Waiting block) {
  cached_bytes_ += block.bytes;
  std::erase_if(waiting_, [&](const Waiting& other) {
    if (other.area != block.area) return false;
    const bool before = other.data + other.bytes == block.data;
    if (!before && block.data + block.bytes != other.data) return false;
    if (before) block.data = other.data;
    block.bytes += other.bytes;
    return true;
  });
  try {
    waiting_.push_back(block);
  } catch (const std::bad_alloc&) {
    cached_bytes_ -= block.bytes;
    unmap(block.data, block.bytes);
  }
}

int64_t BufferPool::size(std::byte* block) const {
  const std::lock_guard lock(mutex_);
  return used_.at(block).bytes;
}

void BufferPool::trim(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  trim_locked(bytes);
  most_asked_ = asked_;
}

// Of the last block to go only the end, as far as it is huge pages.
void BufferPool::trim_locked(int64_t bytes) {
  auto it = waiting_.begin();
  while (it != waiting_.end() && cached_bytes_ > bytes) {
    const int64_t pages = (cached_bytes_ - bytes + kHugePage - 1) / kHugePage;
    const int64_t gone = std::min(it->bytes, pages * kHugePage);
    it->bytes -= gone;
    cached_bytes_ -= gone;
    unmap(it->data + it->bytes, gone);
    if (it->bytes == 0) ++it;
  }
  waiting_.erase(waiting_.begin(), it);
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
  return {used_bytes_, most_asked_, cached_bytes_, limit_, taken_, reused_};
}

void BufferPool::hold_for_fork() { mutex_.lock(); }
void BufferPool::go_on_after_fork() { mutex_.unlock(); }

BufferPool& buffer_pool() {
  static BufferPool& pool = *[] {
    auto* made = new BufferPool(default_limit(), kSpare);
    // A child process has the lock as it was at the fork, but no thread that would open it.
    pthread_atfork([] { buffer_pool().hold_for_fork(); }, [] { buffer_pool().go_on_after_fork(); },
                   [] { buffer_pool().go_on_after_fork(); });
    return made;
  }();
  return pool;
}

}  // namespace dvm::runtime
