#include "runtime/memory/frozen_memory.h"

#include <algorithm>
#include <new>

#include "runtime/execute/size_math.h"

namespace dvm::runtime {

namespace {

constexpr std::align_val_t kLine{64};
// Panels fill up what has few columns.
constexpr int64_t kSmall = 65536;

int64_t packed_bytes_of(const vm::RightMatrix& matrix, const vm::Target& target) {
  return vm::packed_columns(matrix.columns) * target.packed_column(matrix);
}

}  // namespace

void FrozenMemory::Free::operator()(std::byte* block) const { ::operator delete(block, kLine); }

void FrozenMemory::add(const std::byte* begin, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  ranges_[begin].bytes = bytes;
  count_.store(ranges_.size(), std::memory_order_relaxed);
}

void FrozenMemory::remove(const std::byte* begin) {
  const std::lock_guard lock(mutex_);
  ranges_.erase(begin);
  count_.store(ranges_.size(), std::memory_order_relaxed);
}

// Under the lock: the one that holds all of a tensor that has elements.
const FrozenMemory::Range* FrozenMemory::range_of(const BufferView& tensor) const {
  const core::ByteRange bytes = bytes_of(tensor);
  if (bytes.low == bytes.high) return nullptr;
  const auto behind = ranges_.upper_bound(tensor.data + bytes.low);
  if (behind == ranges_.begin()) return nullptr;
  const auto& [begin, range] = *std::prev(behind);
  return tensor.data + bytes.high <= begin + range.bytes ? &range : nullptr;
}

FrozenMemory::Packed* FrozenMemory::copy_of(Range& range, const vm::RightMatrix& matrix) const {
  const auto found = std::ranges::find(range.copies, matrix, &Packed::matrix);
  return found == range.copies.end() ? nullptr : &*found;
}

uint64_t FrozenMemory::which(std::span<const BufferView> tensors) const {
  uint64_t ones = 0;
  if (is_empty()) return ones;
  const std::lock_guard lock(mutex_);
  for (size_t k = 0; k < tensors.size(); ++k) {
    if (tensors[k].rank >= 2 && range_of(tensors[k]) != nullptr) ones |= uint64_t{1} << k % 64;
  }
  return ones;
}

FrozenMemory::Factor FrozenMemory::find(const BufferView& tensor, const vm::RightMatrix& matrix,
                                        const vm::Target& target) {
  const std::lock_guard lock(mutex_);
  auto* const range = const_cast<Range*>(range_of(tensor));
  if (range == nullptr) return {};
  Packed* const copy = copy_of(*range, matrix);
  const bool fits = copy != nullptr || range->packed_bytes + packed_bytes_of(matrix, target) <=
                                           kMostCopies * range->bytes + kSmall;
  return fits ? Factor(range, copy, matrix) : Factor();
}

const std::byte* FrozenMemory::packed(const Factor& factor, const vm::Target& target) {
  Packed* copy = factor.copy_;
  const int64_t bytes = packed_bytes_of(factor.matrix_, target);
  if (copy == nullptr) {
    const std::lock_guard lock(mutex_);
    copy = copy_of(*factor.range_, factor.matrix_);  // another thread may have been faster
    if (copy == nullptr) {
      copy = &factor.range_->copies.emplace_back(factor.matrix_);
      factor.range_->packed_bytes += bytes;
    }
  }
  if (const std::byte* const ready = copy->ready.load(std::memory_order_acquire)) return ready;
  const std::lock_guard lock(copy->packing);
  if (!copy->data) {
    copy->data.reset(
        static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes), kLine, std::nothrow)));
    if (!copy->data) return nullptr;
    target.pack(factor.matrix_, copy->data.get());
    copy->ready.store(copy->data.get(), std::memory_order_release);
  }
  return copy->data.get();
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
