#include "runtime/memory/temporaries.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

#include "runtime/execute/faults.h"
#include "runtime/memory/buffer_pool.h"
#include "vm/target/watch.h"

namespace dvm::runtime {

namespace {

constexpr size_t kAlignment = 64;

size_t size_class(int64_t bytes) {
  return static_cast<size_t>(
      std::bit_width(std::max(static_cast<uint64_t>(bytes), uint64_t{kAlignment}) - 1));
}

int64_t class_bytes(size_t size_class) { return int64_t{1} << size_class; }

}  // namespace

BlockCache::~BlockCache() {
  for (Free* block : free_) {
    while (block) std::free(std::exchange(block, block->next));
  }
}

std::byte* BlockCache::take(int64_t bytes) {
  if (is_faulty()) return nullptr;
  const bool is_pooled = bytes >= kLeastPooled;
  const size_t c = size_class(bytes);
  if (Free* block = is_pooled ? nullptr : free_[c]) {
    free_[c] = block->next;
    return reinterpret_cast<std::byte*>(block);
  }
  auto* const block = is_pooled ? buffer_pool().take(bytes)
                                : static_cast<std::byte*>(std::aligned_alloc(
                                      kAlignment, static_cast<size_t>(class_bytes(c))));
  vm::Watch::tell_allocated(block, bytes);
  return block;
}

void BlockCache::give(std::byte* block, int64_t bytes) {
  if (bytes >= kLeastPooled) return buffer_pool().give(block);
  const size_t c = size_class(bytes);
  free_[c] = new (block) Free{free_[c]};
}

}  // namespace dvm::runtime
