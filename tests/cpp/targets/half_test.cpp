// The conversions of halves against the oracle: all halves, and all floats that lie between, on or
// next to two of them. Whole numbers and doubles round once, too.
#include <gtest/gtest.h>

#include <bit>

#include "core/ops/scalar_ops.h"
#include "oracle.h"

namespace dvm::testing {
namespace {

template <typename H>
class Halves : public ::testing::Test {};
using AllHalves = ::testing::Types<core::Half, core::BFloat16>;
TYPED_TEST_SUITE(Halves, AllHalves);

TYPED_TEST(Halves, BecomeTheirFloats) {
  using H = TypeParam;
  for (uint32_t i = 0; i < 65536; ++i) {
    const H half{static_cast<uint16_t>(i)};
    const float got = core::to_float(half);
    ASSERT_TRUE(same(got, static_cast<float>(decode_half(half)))) << i;
    const bool nan = (i & 0x7fff) > H::kInfinity;
    ASSERT_EQ(core::to_half<H>(got).bits, nan ? i | H::kNan : i) << i;
    ASSERT_EQ(core::signals<H>(half.bits), nan && (i & H::kNan) != H::kNan) << i;
  }
}

template <typename H>
void check(double x) {
  if (std::isnan(x)) return;
  ASSERT_EQ(core::half_from_double<H>(x).bits, encode_half<H>(x).bits) << x;
  const auto f = static_cast<float>(x);
  ASSERT_EQ(core::to_half<H>(f).bits, encode_half<H>(f).bits) << f;
}

TYPED_TEST(Halves, RoundToNearestEven) {
  using H = TypeParam;
  for (uint32_t i = 0; i < H::kInfinity; ++i) {
    const double low = decode_half(H{static_cast<uint16_t>(i)});
    const double high = i + 1 == H::kInfinity ? std::ldexp(1, HalfRange<H>::kMost + 1)
                                              : decode_half(H{static_cast<uint16_t>(i + 1)});
    const double middle = (low + high) / 2;
    const auto f = static_cast<float>(middle);
    for (const double x :
         {middle, std::nextafter(middle, 0.0), std::nextafter(middle, HUGE_VAL), low,
          double{std::nextafter(f, 0.0F)}, double{std::nextafter(f, HUGE_VALF)}}) {
      check<H>(x);
      check<H>(-x);
      if (this->HasFatalFailure()) return;
    }
  }
  std::mt19937_64 random(11);
  for (int i = 0; i < 1 << 19; ++i) {
    check<H>(std::bit_cast<float>(static_cast<uint32_t>(random())));
    check<H>(std::bit_cast<double>(random()));
  }
}

// Of 2**k, what lies in the middle between two halves, and next to it.
TYPED_TEST(Halves, WholeNumbersRoundOnce) {
  using H = TypeParam;
  __extension__ using Wide = __int128;
  // By the definition, without a double on the way.
  const auto nearest = [](Wide x) {
    const Wide magnitude = x < 0 ? -x : x;
    int shift = 0;
    while (magnitude >> shift >= Wide{2} << HalfRange<H>::kFraction) ++shift;
    const Wide kept = magnitude >> shift, rest = magnitude - (kept << shift);
    const Wide tie = shift == 0 ? 1 : Wide{1} << (shift - 1);
    const bool up = shift > 0 && (rest > tie || (rest == tie && kept % 2 != 0));
    const double rounded = std::ldexp(static_cast<double>(kept + up), shift);
    return encode_half<H>(x < 0 ? -rounded : rounded).bits;
  };
  for (int k = 0; k < 63; ++k) {
    for (int m = 0; m < 1 << (HalfRange<H>::kFraction + 2); ++m) {
      const auto middle =
          static_cast<uint64_t>((Wide{1} << k) + (k > 9 ? Wide{m} << (k - 9) : Wide{m}));
      for (const uint64_t word : {middle, middle - 1, middle + 1, -middle, ~middle, 1 - middle}) {
        const auto x = static_cast<int64_t>(word);
        ASSERT_EQ(core::scalar::cast<H>(x).bits, nearest(x)) << x;
        ASSERT_EQ(core::scalar::cast<H>(word).bits, nearest(word)) << word;
        const auto narrow = static_cast<int32_t>(x);
        ASSERT_EQ(core::scalar::cast<H>(narrow).bits, nearest(narrow)) << narrow;
        const auto small = static_cast<uint16_t>(x);
        ASSERT_EQ(core::scalar::cast<H>(small).bits, nearest(small)) << small;
      }
    }
  }
}

}  // namespace
}  // namespace dvm::testing
