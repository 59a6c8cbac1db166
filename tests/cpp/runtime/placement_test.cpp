// Where temporaries lie in one block: never two in one place at one time, and in little more room
// than lives at once.
#include "runtime/memory/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/error.h"

namespace dvm::runtime {
namespace {

int64_t some(std::mt19937& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

// As programs have them: of all sizes, few moments or long ones, some that begin and end together.
std::vector<Temporary> temporaries(std::mt19937& random) {
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
  std::mt19937 random(1);
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
  std::mt19937 random(2);
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

// A program of layers, each of which makes a value of others: what lives until its last reader.
class Layers {
 public:
  int add(int64_t channels, int64_t side, std::initializer_list<int> from) {
    const auto at = static_cast<int32_t>(all_.size());
    for (const int value : from) all_[static_cast<size_t>(value)].end = at + 1;
    all_.push_back({4 * channels * side * side, at, at + 1});
    return at;
  }
  std::span<const Temporary> all() const { return all_; }

 private:
  std::vector<Temporary> all_;
};

std::vector<Temporary> of(const Layers& layers) {
  return {layers.all().begin(), layers.all().end()};
}

std::vector<Temporary> vgg() {
  Layers net;
  int value = net.add(3, 224, {});
  int64_t side = 224, channels = 64;
  for (const int count : {2, 2, 3, 3, 3}) {
    for (int k = 0; k < count; ++k) value = net.add(channels, side, {value});
    value = net.add(channels, side /= 2, {value});
    channels = std::min<int64_t>(2 * channels, 512);
  }
  return of(net);
}

std::vector<Temporary> resnet() {
  Layers net;
  int value = net.add(64, 56, {net.add(64, 112, {net.add(3, 224, {})})});
  int64_t side = 56, channels = 64;
  for (const int count : {3, 4, 6, 3}) {
    for (int k = 0; k < count; ++k) {
      const int narrow = net.add(channels, side, {value});
      const int wide = net.add(4 * channels, side, {net.add(channels, side, {narrow})});
      const int skipped = k == 0 ? net.add(4 * channels, side, {value}) : value;
      value = net.add(4 * channels, side, {wide, skipped});
    }
    side /= 2;
    channels *= 2;
  }
  return of(net);
}

std::vector<Temporary> mobilenet() {
  Layers net;
  int value = net.add(16, 112, {net.add(32, 112, {net.add(3, 224, {})})});
  int64_t side = 112;
  for (const int64_t channels : {24, 32, 64, 96, 160, 320}) {
    for (int k = 0; k < 3; ++k) {
      const int expanded = net.add(6 * channels, side, {value});
      if (k == 0 && side > 7) side /= 2;
      const int narrow = net.add(channels, side, {net.add(6 * channels, side, {expanded})});
      value = k == 0 ? narrow : net.add(channels, side, {narrow, value});
    }
  }
  return of(net);
}

std::vector<Temporary> squeezenet() {
  Layers net;
  int value = net.add(96, 54, {net.add(96, 111, {net.add(3, 224, {})})});
  int64_t side = 54;
  for (const int64_t channels : {16, 16, 32, 32, 48, 48, 64, 64}) {
    const int squeezed = net.add(channels, side, {value});
    const int one = net.add(4 * channels, side, {squeezed});
    value = net.add(8 * channels, side, {one, net.add(4 * channels, side, {squeezed})});
    if (channels % 32 == 0) value = net.add(8 * channels, side /= 2, {value});
  }
  return of(net);
}

TEST(Placement, OfNetworksOfConvolutionsTakesLittleMoreThanLives) {
  for (const auto& network : {vgg(), resnet(), mobilenet(), squeezenet()}) {
    const Placement placement = place(network);
    verify(network, placement);
    const double more =
        static_cast<double>(placement.bytes) / static_cast<double>(least_bytes(network));
    EXPECT_LE(more, 1.08);
  }
}

}  // namespace
}  // namespace dvm::runtime
