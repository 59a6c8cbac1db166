#include "runtime/memory/frozen_memory.h"

#include <algorithm>
#include <new>

#include "runtime/execute/size_math.h"

namespace dvm::runtime {

namespace {

constexpr std::align_val_t kLine{64};
// Panels fill up what has few columns.
constexpr int64_t kSmall = 65536;

// The range that begins at or before `at`, or end().
template <typename Map>
auto range_at(Map& ranges, const std::byte* at) {
  auto behind = ranges.upper_bound(at);
  return behind == ranges.begin() ? ranges.end() : std::prev(behind);
}

}  // namespace

void FrozenMemory::Free::operator()(std::byte* block) const { ::operator delete(block, kLine); }

void FrozenMemory::add(const std::byte* begin, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  ranges_[begin] = {.bytes = bytes, .copies = {}};
  count_.store(ranges_.size(), std::memory_order_relaxed);
}

void FrozenMemory::remove(const std::byte* begin) {
  const std::lock_guard lock(mutex_);
  ranges_.erase(begin);
  count_.store(ranges_.size(), std::memory_order_relaxed);
}

bool FrozenMemory::holds(const BufferView& tensor) const {
  const core::ByteRange range = bytes_of(tensor);
  if (range.low == range.high) return false;
  const std::lock_guard lock(mutex_);
  const auto frozen = range_at(ranges_, tensor.data + range.low);
  return frozen != ranges_.end() &&
         tensor.data + range.high <= frozen->first + frozen->second.bytes;
}

bool FrozenMemory::admits(const vm::RightMatrix& matrix, const vm::Target& target) const {
  const std::lock_guard lock(mutex_);
  const auto range = range_at(ranges_, matrix.data);
  if (range == ranges_.end()) return false;
  const auto& [bytes, copies, packed_bytes] = range->second;
  if (std::ranges::find(copies, matrix, &Packed::matrix) != copies.end()) return true;
  const int64_t more = vm::packed_columns(matrix.columns) * target.packed_column(matrix);
  return packed_bytes + more <= kMostCopies * bytes + kSmall;
}

const std::byte* FrozenMemory::packed(const vm::RightMatrix& matrix, const vm::Target& target) {
  const std::lock_guard lock(mutex_);
  const auto range = range_at(ranges_, matrix.data);
  if (range == ranges_.end()) return nullptr;
  std::vector<Packed>& copies = range->second.copies;
  const auto found = std::ranges::find(copies, matrix, &Packed::matrix);
  if (found != copies.end()) return found->data.get();
  const int64_t bytes = vm::packed_columns(matrix.columns) * target.packed_column(matrix);
  std::unique_ptr<std::byte, Free> data(
      static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes), kLine, std::nothrow)));
  if (!data) return nullptr;
  target.pack(matrix, data.get());
  copies.push_back({matrix, std::move(data), bytes});
  range->second.packed_bytes += bytes;
  return copies.back().data.get();
}

FrozenStats FrozenMemory::stats() const {
  const std::lock_guard lock(mutex_);
  FrozenStats stats;
  for (const auto& [begin, range] : ranges_) {
    stats.frozen_bytes += range.bytes;
    stats.packed_bytes += range.packed_bytes;
  }
  return stats;
}

// Never destroyed: arrays of the host may outlive all else.
FrozenMemory& frozen_memory() {
  static FrozenMemory& memory = *new FrozenMemory;
  return memory;
}

}  // namespace dvm::runtime
