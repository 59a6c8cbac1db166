// Where temporaries lie in one block: never two in one place at one time, and in little more room
// than lives at once.
#include "runtime/memory/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/error.h"

namespace dvm::runtime {
namespace {

using Random = std::mt19937;

int64_t some(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

// As programs have them: of all sizes, few moments or long ones, some that begin and end together.
std::vector<Temporary> temporaries(Random& random) {
  const auto count = some(random, 0, 40), moments = some(random, 1, 60);
  const int64_t kinds = some(random, 1, 4), largest = int64_t{1} << some(random, 0, 24);
  std::vector<int64_t> sizes;
  for (int64_t k = 0; k < kinds; ++k) sizes.push_back(some(random, 0, largest));
  std::vector<Temporary> made;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t begin = some(random, 0, moments);
    const int64_t end = some(random, 0, 9) == 0 ? INT32_MAX : some(random, begin, moments + 1);
    const int64_t bytes = some(random, 0, 1) == 0
                              ? sizes[static_cast<size_t>(some(random, 0, kinds - 1))]
                              : some(random, 0, largest);
    made.push_back({bytes, static_cast<int32_t>(begin), static_cast<int32_t>(end)});
  }
  return made;
}

TEST(Placement, NeverLetsTwoShareWhatBothNeed) {
  Random random(1);
  for (int program = 0; program < 5000; ++program) {
    const std::vector<Temporary> all = temporaries(random);
    for (const auto& of : {place, place_by_size, place_by_breadth}) {
      const Placement placement = of(all);
      ASSERT_NO_THROW(verify(all, placement)) << program;
      ASSERT_GE(placement.bytes, least_bytes(all)) << program;
    }
    const int64_t bytes = place(all).bytes;
    ASSERT_EQ(bytes, std::min(place_by_size(all).bytes, place_by_breadth(all).bytes)) << program;
  }
}

// The checker is no copy of the planner: what it refuses was placed wrong on purpose.
TEST(Placement, IsRefusedWhereStoragesMeet) {
  Random random(2);
  int refused = 0;
  for (int program = 0; program < 2000; ++program) {
    const std::vector<Temporary> all = temporaries(random);
    if (all.empty()) continue;
    Placement placement = place(all);
    const auto moved = static_cast<size_t>(some(random, 0, std::ssize(all) - 1));
    placement.offsets[moved] = 64 * some(random, 0, placement.bytes / 64);
    const auto end = [&](size_t k) {
      return placement.offsets[k] + std::max<int64_t>(all[k].bytes, 1);
    };
    bool meets = placement.offsets[moved] + all[moved].bytes > placement.bytes;
    for (size_t k = 0; k < all.size(); ++k) {
      const bool together = all[k].begin < all[k].end && all[moved].begin < all[moved].end &&
                            all[k].begin < all[moved].end && all[moved].begin < all[k].end;
      meets |= k != moved && together && placement.offsets[k] < end(moved) &&
               placement.offsets[moved] < end(k);
    }
    refused += meets;
    if (meets) {
      EXPECT_THROW(verify(all, placement), core::Error) << program;
    } else {
      EXPECT_NO_THROW(verify(all, placement)) << program;
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(Placement, IsRefusedWhereItIsNotAligned) {
  const Temporary one{100, 0, 1};
  EXPECT_NO_THROW(verify({&one, 1}, {{64}, 192}));
  EXPECT_THROW(verify({&one, 1}, {{32}, 192}), core::Error);
  EXPECT_THROW(verify({&one, 1}, {{-64}, 192}), core::Error);
  EXPECT_THROW(verify({&one, 1}, {{128}, 192}), core::Error);
  EXPECT_THROW(verify({&one, 1}, {{}, 192}), core::Error);
}

TEST(Placement, TakesAGapThatFits) {
  // The second one dies in the middle of the others; what comes then takes its place.
  const Temporary all[] = {{256, 0, 9}, {128, 1, 3}, {256, 2, 9}, {64, 3, 9}, {64, 4, 9}};
  const Placement placement = place(all);
  verify(all, placement);
  EXPECT_EQ(placement.bytes, 640);
  EXPECT_EQ(least_bytes(all), 640);
}

TEST(Placement, OfAChainIsTwoTurns) {
  std::vector<Temporary> all;
  for (int32_t k = 0; k < 100; ++k) all.push_back({1 << 20, k, k + 2});
  EXPECT_EQ(place(all).bytes, 2 << 20);
}

}  // namespace
}  // namespace dvm::runtime
