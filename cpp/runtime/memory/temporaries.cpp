#include "runtime/memory/temporaries.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

#include "core/math/integers.h"
#include "runtime/execute/faults.h"
#include "runtime/memory/buffer_pool.h"
#include "vm/target/watch.h"

namespace dvm::runtime {

namespace {

constexpr int64_t kMostKept = int64_t{1} << 22;

struct SizeClass {
  size_t index;
  int64_t bytes;
};

// Multiples of 64 up to 512, then eight between a power of two and the next one.
SizeClass size_class(int64_t bytes) {
  const int64_t least = std::max(bytes, int64_t{1});
  const int above =
      std::max(static_cast<int>(std::bit_width(static_cast<uint64_t>(least - 1))) - 10, 0);
  const int64_t step = kAlignment << above;
  const int64_t steps = (least + step - 1) / step;  // up to 8, then 9 to 16 of each doubling
  return {static_cast<size_t>(8 * above + steps - 1), steps * step};
}

std::byte* allocate(int64_t bytes) {
  return static_cast<std::byte*>(
      std::aligned_alloc(static_cast<size_t>(kAlignment), static_cast<size_t>(bytes)));
}

}  // namespace

BlockCache::~BlockCache() {
  for (Free* block : free_) {
    while (block) std::free(std::exchange(block, block->next));
  }
}

std::byte* BlockCache::find(int64_t bytes) {
  if (bytes >= kLeastPooled) return buffer_pool().take(bytes);
  const SizeClass c = size_class(bytes);
  Free* const block = free_[c.index];
  if (block == nullptr) return allocate(c.bytes);
  free_[c.index] = block->next;
  free_bytes_ -= c.bytes;
  return reinterpret_cast<std::byte*>(block);
}

std::byte* BlockCache::take(int64_t bytes) {
  if (is_faulty()) return nullptr;
  std::byte* const block = find(bytes);
  vm::Watch::tell_allocated(block, bytes);
  if (is_noting_) {
    const auto moment = static_cast<int32_t>(noted_.size());
    living_.push_back({block, noted_.size()});
    noted_.push_back({bytes, moment, INT32_MAX});
  }
  return block;
}

void BlockCache::give(std::byte* block, int64_t bytes) {
  if (is_noting_) note_end(block);
  if (bytes >= kLeastPooled) return buffer_pool().give(block);
  const SizeClass c = size_class(bytes);
  if (free_bytes_ + c.bytes > kMostKept) return std::free(block);
  free_[c.index] = new (block) Free{free_[c.index]};
  free_bytes_ += c.bytes;
}

void BlockCache::note() {
  noted_.clear();
  living_.clear();
  is_noting_ = true;
}

void BlockCache::note_end(const std::byte* block) {
  const auto found = std::ranges::find(living_, block, &Living::block);
  noted_[found->noted].end = static_cast<int32_t>(noted_.size());
  *found = living_.back();
  living_.pop_back();
}

Arena::~Arena() {
  give();
  std::free(kept_);
}

std::byte* Arena::take(int64_t bytes) {
  if (is_faulty()) return nullptr;
  if (bytes >= kLeastPooled) return pooled_ = buffer_pool().take(bytes);
  if (bytes > kept_bytes_) {
    std::free(kept_);
    kept_bytes_ = std::min(kLeastPooled, 2 * core::round_up(bytes, kAlignment));
    kept_ = allocate(kept_bytes_);
    if (kept_ == nullptr) kept_bytes_ = 0;
  }
  return kept_;
}

void Arena::give() {
  if (pooled_ != nullptr) buffer_pool().give(std::exchange(pooled_, nullptr));
}

}  // namespace dvm::runtime
