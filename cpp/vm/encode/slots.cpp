#include "vm/encode/slots.h"

#include <algorithm>

#include "core/error.h"

namespace dvm::vm {

int64_t SlotAllocator::take(int64_t bytes) {
  // A slot of no bytes still needs an address of its own: release() goes by offset.
  const int64_t size = align_up(std::max<int64_t>(bytes, 1));
  int64_t begin = align_up(reserve_);
  int position = 0;
  while (position < live_ && ranges_[position].begin - begin < size) {
    begin = ranges_[position++].end;
  }
  if (begin + size > limit_ || live_ == kMaxLive) return kNone;
  std::copy_backward(ranges_ + position, ranges_ + live_, ranges_ + live_ + 1);
  ranges_[position] = {begin, begin + size};
  ++live_;
  peak_ = std::max(peak_, begin + size);
  return begin;
}

void SlotAllocator::release(uint32_t offset) {
  Range* const end = ranges_ + live_;
  Range* const found =
      std::find_if(ranges_, end, [offset](const Range& r) { return r.begin == offset; });
  DVM_CHECK(found != end, "released a slot that is not live");
  std::copy(found + 1, end, found);
  --live_;
}

}  // namespace dvm::vm
