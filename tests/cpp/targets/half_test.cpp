// The branch-free fp16 conversions of the cpu against the oracle: all halves, and all floats that
// lie between, on or next to two of them.
#include <gtest/gtest.h>

#include <bit>

#include "cpu/move/elements.h"
#include "oracle.h"

namespace dvm::testing {
namespace {

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }

TEST(Half, EveryHalfBecomesItsFloat) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const Half half{static_cast<uint16_t>(i)};
    const float got = cpu::half_to_float(half.bits);
    ASSERT_EQ(bits(got), bits(core::to_float(half))) << i;
    ASSERT_TRUE(same(got, static_cast<float>(decode_half(half)))) << i;
    ASSERT_EQ(cpu::float_to_half(got), core::to_half(got).bits) << i;
  }
}

void check(float x) {
  const Half got{cpu::float_to_half(x)};
  ASSERT_TRUE(same(got, encode_half(x))) << x << " -> " << got.bits;
  ASSERT_EQ(got.bits, core::to_half(x).bits) << x;
}

TEST(Half, FloatsRoundToNearestEven) {
  for (uint32_t i = 0; i < 0x7c00; ++i) {
    const double low = decode_half({static_cast<uint16_t>(i)});
    const double high = i + 1 == 0x7c00 ? 65536 : decode_half({static_cast<uint16_t>(i + 1)});
    const auto middle = static_cast<float>((low + high) / 2);
    for (const float x : {middle, std::nextafter(middle, 0.0F), std::nextafter(middle, INFINITY),
                          static_cast<float>(low)}) {
      check(x);
      check(-x);
      if (HasFatalFailure()) return;
    }
  }
  std::mt19937_64 random(11);
  for (int i = 0; i < 1 << 20; ++i) check(std::bit_cast<float>(static_cast<uint32_t>(random())));
}

}  // namespace
}  // namespace dvm::testing
