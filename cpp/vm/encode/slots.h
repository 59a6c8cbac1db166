// Slots: byte ranges of one of a core's memories, handed out first fit at ascending offsets and
// taken back when their value dies, so that a Program's footprint is its peak of live values rather
// than their number. Fixed size, no heap.
#pragma once

#include <cstdint>

#include "vm/target/target.h"
#include "vm/tile/bind.h"

namespace dvm::vm {

class SlotAllocator {
 public:
  // Every value of a Stage, and what an instruction expands of its operands.
  static constexpr int kMaxLive = kMaxStageSteps + kMaxStageAccesses + 8;

  explicit SlotAllocator(const TargetTraits& target, Space space = Space::ub)
      : SlotAllocator(target.memory(space)) {}
  explicit SlotAllocator(const Memory& memory)
      : align_(memory.align), reserve_(memory.reserve), limit_(memory.bytes) {}

  // The offset of `bytes` free bytes, aligned for the target; kNone when no gap is large enough.
  // (Not an optional: its halves are written apart and read as one, which stalls.)
  static constexpr int64_t kNone = -1;
  int64_t take(int64_t bytes);
  void release(uint32_t offset);  // of a slot taken before

  int64_t peak() const { return peak_; }  // highest end of any slot so far, reserve included
  int live() const { return live_; }

 private:
  struct Range {
    int64_t begin, end;
  };

  // The alignment of a target is a power of two.
  int64_t align_up(int64_t bytes) const { return (bytes + align_ - 1) & -align_; }

  const int64_t align_, reserve_, limit_;
  int64_t peak_ = 0;
  int live_ = 0;
  Range ranges_[kMaxLive];  // by offset
};

}  // namespace dvm::vm
