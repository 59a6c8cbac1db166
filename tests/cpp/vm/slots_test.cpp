// Slots against a naive list of what is live.
#include "vm/encode/slots.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace dvm::vm {
namespace {

TEST(Slots, AscendFromTheReserveAndReuseTheLowestGap) {
  SlotAllocator slots(*find_target("ascend910b3"));
  EXPECT_EQ(slots.take(1664), 0x200);
  EXPECT_EQ(slots.take(1664), 0x880);
  EXPECT_EQ(slots.take(1664), 0xf00);
  slots.release(0x200);
  EXPECT_EQ(slots.take(1665), 0x1580) << "one byte too many for the gap";
  EXPECT_EQ(slots.take(1), 0x200);
  EXPECT_EQ(slots.take(32), 0x220);
  EXPECT_EQ(slots.live(), 5);
  EXPECT_EQ(slots.peak(), 0x1580 + 1696);
}

TEST(Slots, NeverOverlapNorExceedTheLocalMemory) {
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    std::mt19937_64 random(seed);
    TargetTraits target = *find_target(random() % 2 == 0 ? "cpu" : "ascend910b3");
    target.local_bytes = target.reserve_bytes + 64 * static_cast<int64_t>(1 + random() % 128);
    SlotAllocator slots(target);
    std::map<int64_t, int64_t> live;  // begin -> end
    for (int step = 0; step < 60; ++step) {
      if (!live.empty() && random() % 3 == 0) {
        const auto victim = std::next(live.begin(), static_cast<int>(random() % live.size()));
        slots.release(static_cast<uint32_t>(victim->first));
        live.erase(victim);
        continue;
      }
      const auto bytes = static_cast<int64_t>(1 + random() % 1000);
      // The first gap that is long enough, found by trying every aligned offset.
      int64_t expected = SlotAllocator::kNone;
      for (int64_t at = target.reserve_bytes;
           at + bytes <= target.local_bytes && expected == SlotAllocator::kNone;
           at += target.align) {
        const int64_t end = (at + bytes + target.align - 1) / target.align * target.align;
        bool free = end <= target.local_bytes;
        for (const auto& [b, e] : live) free = free && (end <= b || e <= at);
        if (free) expected = at;
      }
      ASSERT_EQ(slots.take(bytes), expected) << "seed " << seed << " step " << step;
      if (expected == SlotAllocator::kNone) continue;
      live[expected] = (expected + bytes + target.align - 1) / target.align * target.align;
      ASSERT_LE(live[expected], slots.peak());
    }
  }
}

}  // namespace
}  // namespace dvm::vm
