// fp16 conversions against the compiler's own _Float16 and against the definition of rounding.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "core/ops/dtype.h"

namespace dvm::core {
namespace {

// The value by the definition of binary16, without any bit tricks.
double value_of(uint16_t bits) {
  const int exponent = bits / 1024 % 32, fraction = bits % 1024;
  const double sign = bits >= 0x8000 ? -1.0 : 1.0;
  if (exponent == 31) return fraction != 0 ? NAN : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

// Rounding as a search: the nearest of all halves, ties to the even bit pattern; 65520 is the
// midpoint between the greatest half and what would follow it.
uint16_t nearest(double x) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double magnitude = std::fabs(x);
  if (std::isnan(x)) return 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  uint16_t low = 0, high = 0x7bff;  // value_of is increasing in between
  while (high - low > 1) {
    const auto middle = static_cast<uint16_t>((low + high) / 2);
    (value_of(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - value_of(low), above = value_of(high) - magnitude;
  return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

bool is_nan(uint16_t bits) { return (bits & 0x7fff) > 0x7c00; }

TEST(Half, ToFloatIsExactForEveryValue) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const float f = to_float(Half{bits});
    if (is_nan(bits)) {
      ASSERT_TRUE(std::isnan(f)) << i;
      ASSERT_TRUE(std::bit_cast<uint32_t>(f) & 0x400000) << i << " is signalling";
    } else {
      ASSERT_EQ(f, value_of(bits)) << i;
    }
    ASSERT_EQ(std::signbit(f), bits >= 0x8000) << i;
  }
}

TEST(Half, EveryValueSurvivesTheRoundTrip) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    // A NaN keeps its sign and payload but becomes quiet.
    const uint16_t expected = is_nan(bits) ? bits | 0x200 : bits;
    ASSERT_EQ(to_half<Half>(to_float(Half{bits})).bits, expected) << i;
    ASSERT_EQ(half_from_double<Half>(to_float(Half{bits})).bits, expected) << i;
  }
}

TEST(Half, RoundsEveryNeighbourhoodToNearestEven) {
  for (uint32_t i = 0; i < 0x7c00; ++i) {
    const double here = value_of(static_cast<uint16_t>(i));
    const double next = i == 0x7bff ? 65536.0 : value_of(static_cast<uint16_t>(i + 1));
    const double middle = (here + next) / 2;  // exact in float, too
    for (const double x : {here, middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e9),
                           std::nextafter(here, 1e9)}) {
      ASSERT_EQ(half_from_double<Half>(x).bits, nearest(x)) << x;
      ASSERT_EQ(half_from_double<Half>(-x).bits, nearest(-x)) << -x;
    }
    const auto f = static_cast<float>(middle);
    for (const float x : {f, std::nextafter(f, 0.0f), std::nextafter(f, 1e9f)}) {
      ASSERT_EQ(to_half<Half>(x).bits, nearest(x)) << x;
    }
  }
}

TEST(Half, AgreesWithTheCompilerOnRandomBits) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 500000; ++i) {
    const uint64_t bits = rng();
    // Half of the cases near the range of binary16, the others anywhere.
    const double d = i % 2 ? std::bit_cast<double>(bits)
                           : std::ldexp(1.0 + static_cast<double>(bits >> 12) * 0x1p-52,
                                        static_cast<int>(bits % 48) - 30);
    ASSERT_EQ(is_nan(half_from_double<Half>(d).bits), std::isnan(d));
    if (std::isnan(d)) continue;
    ASSERT_EQ(half_from_double<Half>(d).bits, nearest(d)) << d;
#ifndef __clang__  // clang 14, which reads this file for clang-tidy, has no _Float16 here
    __extension__ using Native = _Float16;
    ASSERT_EQ(half_from_double<Half>(d).bits, std::bit_cast<uint16_t>(static_cast<Native>(d))) << d;
    const auto f = static_cast<float>(d);
    ASSERT_EQ(to_half<Half>(f).bits, std::bit_cast<uint16_t>(static_cast<Native>(f))) << f;
#endif
  }
}

TEST(Half, DoublesRoundOnce) {
  const double x = 1 + 0x1p-11 + 0x1p-40;  // as a float it would be a tie and round down
  EXPECT_EQ(half_from_double<Half>(x).bits, 0x3c01);
  EXPECT_EQ(to_half<Half>(static_cast<float>(x)).bits, 0x3c00);
}

TEST(DTypes, TextRoundTrips) {
  for (int i = 0; i < kDTypeCount; ++i) {
    EXPECT_EQ(dtype_from_text(to_string(static_cast<DType>(i))), static_cast<DType>(i));
  }
  EXPECT_EQ(dtype_from_text("f8"), std::nullopt);
  EXPECT_EQ(dtype_from_text(""), std::nullopt);
}

TEST(DTypes, RoundToIsWhatTheDtypeHolds) {
  EXPECT_EQ(round_to(DType::f32, Scalar::of_float(0.1)).as_float(), 0.1f);
  EXPECT_EQ(round_to(DType::f16, Scalar::of_float(70000.0)).as_float(), HUGE_VAL);
  EXPECT_EQ(round_to(DType::f64, Scalar::of_float(0.1)).as_float(), 0.1);
  EXPECT_EQ(round_to(DType::i32, Scalar::of_int((int64_t{1} << 32) + 5)).as_int(), 5);
  EXPECT_EQ(round_to(DType::i64, Scalar::of_int(INT64_MIN)).as_int(), INT64_MIN);
  EXPECT_EQ(round_to(DType::boolean, Scalar::of_int(-3)).as_int(), 1);
}

}  // namespace
}  // namespace dvm::core
