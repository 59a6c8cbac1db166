// The scalar meanings, by hand values at the edges and by a wider type in between.
#include "core/ops/scalar_ops.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

namespace dvm::core {
namespace {

constexpr double kInf = HUGE_VAL;
const double kNaN = std::nan("");
Half h(double x) { return half_from_double<Half>(x); }

TEST(ScalarOps, IntegersWrap) {
  EXPECT_EQ(scalar::add{}(INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(scalar::sub{}(INT64_MIN, int64_t{1}), INT64_MAX);
  EXPECT_EQ(scalar::mul{}(INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(scalar::mul{}(int64_t{1} << 40, int64_t{1} << 30), 0);
  EXPECT_EQ(scalar::neg{}(INT64_MIN), INT64_MIN);
  EXPECT_EQ(scalar::abs{}(INT32_MIN), INT32_MIN);
  EXPECT_EQ(scalar::abs{}(-7), 7);
  std::mt19937_64 rng(1);
  for (int i = 0; i < 10000; ++i) {
    const auto a = static_cast<int32_t>(rng()), b = static_cast<int32_t>(rng());
    ASSERT_EQ(scalar::mul{}(a, b), static_cast<int32_t>(int64_t{a} * b)) << a << " " << b;
    ASSERT_EQ(scalar::add{}(a, b), static_cast<int32_t>(int64_t{a} + b)) << a << " " << b;
    ASSERT_EQ(scalar::sub{}(a, b), static_cast<int32_t>(int64_t{a} - b)) << a << " " << b;
    ASSERT_EQ(scalar::maximum{}(a, b), a < b ? b : a);
    ASSERT_EQ(scalar::minimum{}(a, b), a < b ? a : b);
  }
}

TEST(ScalarOps, BooleansAddAsOrAndMultiplyAsAnd) {
  for (const uint8_t a : {0, 1}) {
    for (const uint8_t b : {0, 1}) {
      EXPECT_EQ(scalar::add{}(a, b), a | b);
      EXPECT_EQ(scalar::mul{}(a, b), a & b);
      EXPECT_EQ(scalar::maximum{}(a, b), a | b);
      EXPECT_EQ(scalar::minimum{}(a, b), a & b);
      EXPECT_EQ(scalar::lt{}(a, b), a < b);
    }
  }
}

template <typename T>
class FloatOps : public ::testing::Test {};
using Floats = ::testing::Types<Half, float, double>;
TYPED_TEST_SUITE(FloatOps, Floats);

TYPED_TEST(FloatOps, FollowNumPyAtTheEdges) {
  using T = TypeParam;
  const auto t = [](double x) { return scalar::cast<T>(x); };
  const auto d = [](T x) { return scalar::cast<double>(x); };
  const T nan = t(kNaN);
  for (const T x : {t(1), t(-0.0), t(kInf), nan}) {
    EXPECT_TRUE(std::isnan(d(scalar::maximum{}(x, nan))));
    EXPECT_TRUE(std::isnan(d(scalar::maximum{}(nan, x))));
    EXPECT_TRUE(std::isnan(d(scalar::minimum{}(x, nan))));
    EXPECT_TRUE(std::isnan(d(scalar::minimum{}(nan, x))));
    EXPECT_TRUE(scalar::ne{}(x, nan));
    for (const bool result : {scalar::eq{}(x, nan), scalar::lt{}(x, nan), scalar::le{}(x, nan),
                              scalar::gt{}(x, nan), scalar::ge{}(x, nan)}) {
      EXPECT_FALSE(result);
    }
  }
  EXPECT_FALSE(std::signbit(d(scalar::maximum{}(t(-0.0), t(0.0)))));  // the second of equals
  EXPECT_TRUE(std::signbit(d(scalar::maximum{}(t(0.0), t(-0.0)))));
  EXPECT_FALSE(std::signbit(d(scalar::abs{}(t(-0.0)))));
  EXPECT_TRUE(std::signbit(d(scalar::neg{}(t(0.0)))));
  EXPECT_EQ(d(scalar::div{}(t(1), t(-0.0))), -kInf);
  EXPECT_TRUE(std::isnan(d(scalar::div{}(t(0), t(0)))));
  EXPECT_TRUE(std::isnan(d(scalar::sub{}(t(kInf), t(kInf)))));
  EXPECT_TRUE(std::isnan(d(scalar::sqrt{}(t(-1)))));
  EXPECT_TRUE(std::signbit(d(scalar::sqrt{}(t(-0.0)))));
  EXPECT_EQ(d(scalar::log{}(t(0))), -kInf);
  EXPECT_EQ(d(scalar::exp{}(t(-kInf))), 0);
  EXPECT_EQ(d(scalar::tanh{}(t(kInf))), 1);
}

TEST(ScalarOps, HalfComputesInFloatAndRoundsOnce) {
  EXPECT_EQ(scalar::add{}(h(2048), h(1)), h(2048));  // a tie, to even
  EXPECT_EQ(scalar::add{}(h(2050), h(1)), h(2052));
  EXPECT_EQ(scalar::mul{}(h(60000), h(2)), h(kInf));
  EXPECT_EQ(scalar::div{}(h(1), h(3)), h(1.0f / 3.0f));
  EXPECT_EQ(scalar::exp{}(h(1)), h(std::exp(1.0f)));
}

TEST(ScalarOps, CastsSaturateWrapOrRound) {
  EXPECT_EQ(scalar::cast<int32_t>(kNaN), 0);
  EXPECT_EQ(scalar::cast<int64_t>(h(kNaN)), 0);
  EXPECT_EQ(scalar::cast<int32_t>(kInf), INT32_MAX);
  EXPECT_EQ(scalar::cast<int32_t>(-kInf), INT32_MIN);
  EXPECT_EQ(scalar::cast<int32_t>(2147483647.0), INT32_MAX);
  EXPECT_EQ(scalar::cast<int32_t>(2147483648.0), INT32_MAX);
  EXPECT_EQ(scalar::cast<int32_t>(2147483647.5f), INT32_MAX);
  EXPECT_EQ(scalar::cast<int32_t>(-2147483648.9), INT32_MIN);
  EXPECT_EQ(scalar::cast<int32_t>(-2147483647.9), -2147483647);
  EXPECT_EQ(scalar::cast<int64_t>(0x1p63), INT64_MAX);
  EXPECT_EQ(scalar::cast<int64_t>(0x1.fffffep62f), int64_t{0x7fffff8000000000});
  EXPECT_EQ(scalar::cast<int64_t>(-0x1p63), INT64_MIN);
  EXPECT_EQ(scalar::cast<int32_t>(-1.9f), -1);
  EXPECT_EQ(scalar::cast<int32_t>((int64_t{1} << 32) + 7), 7);
  EXPECT_EQ(scalar::cast<uint8_t>(0.25), 1);
  EXPECT_EQ(scalar::cast<uint8_t>(-0.0), 0);
  EXPECT_EQ(scalar::cast<uint8_t>(h(kNaN)), 1);
  EXPECT_EQ(scalar::cast<uint8_t>(256), 1);
  EXPECT_EQ(scalar::cast<Half>(70000), h(kInf));
  EXPECT_EQ(scalar::cast<Half>(1 + 0x1p-11 + 0x1p-40).bits, 0x3c01);
  EXPECT_EQ(scalar::cast<float>(int64_t{16777217}), 16777216.0f);
  EXPECT_EQ(scalar::cast<double>(uint8_t{1}), 1.0);
  EXPECT_EQ(scalar::cast<float>(1e300), static_cast<float>(kInf));
}

TEST(ScalarOps, SelectTakesAnyNonZeroAsTrue) {
  EXPECT_EQ(scalar::select{}(1, 5, 6), 5);
  EXPECT_EQ(scalar::select{}(0, 5, 6), 6);
}

// The tree of sum_order.h written out as recursion over stored partials.
float tree_sum(std::vector<float> x, bool adjacent) {
  std::vector<float> partials;
  const size_t part = adjacent && x.size() >= 64 ? 512 : 8;
  for (size_t begin = 0; begin < x.size(); begin += part) {
    const size_t end = std::min(x.size(), begin + part), count = end - begin;
    if (part == 512 && count < 64) {
      partials.push_back(tree_sum({x.begin() + static_cast<int64_t>(begin), x.end()}, false));
      continue;
    }
    std::vector<float> lanes(part == 512 ? 64 : 1);
    for (size_t i = 0; i < count; ++i) {
      float& lane = lanes[i % lanes.size()];
      lane = i < lanes.size() ? x[begin + i] : lane + x[begin + i];
    }
    while (lanes.size() > 1) {
      const size_t half = lanes.size() / 2;
      for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
      lanes.resize(half);
    }
    partials.push_back(lanes[0]);
  }
  return partials.size() == 1 ? partials[0] : tree_sum(std::move(partials), false);
}

TEST(ScalarOps, SumsFollowTheCanonicalTree) {
  std::mt19937_64 rng(3);
  for (const int64_t count : {1, 2, 8, 9, 63, 64, 65, 511, 512, 513, 519, 577, 1024, 4096, 4097,
                              5000, 262144, 262145, 300001}) {
    std::vector<float> x(static_cast<size_t>(count));
    for (float& v : x)
      v = std::ldexp(static_cast<float>(rng() % 2001) - 1000, static_cast<int>(rng() % 20));
    const auto load = [&](int64_t i) { return x[static_cast<size_t>(i)]; };
    for (const bool adjacent : {false, true}) {
      EXPECT_EQ(scalar::sum<float>(count, adjacent, load), tree_sum(x, adjacent)) << count;
    }
    EXPECT_EQ(scalar::max<float>(count, true, load), *std::max_element(x.begin(), x.end()));
  }
}

TEST(ScalarOps, HalfSumsAccumulateInFloat) {
  const auto one = [](int64_t) { return h(1); };
  EXPECT_EQ(scalar::sum<Half>(5000, false, one), h(5000));  // in f16 it would stop at 2048
  EXPECT_EQ(scalar::sum<int32_t>(3, true, [](int64_t) { return INT32_MAX; }), INT32_MAX - 2);
}

}  // namespace
}  // namespace dvm::core
