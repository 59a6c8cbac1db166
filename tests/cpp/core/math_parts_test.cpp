// Steps between floats against the C library: the same bits and the same status flags.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "core/math/parts.h"
#include "core/ops/fp_flags.h"

namespace dvm::core::math {
namespace {

// What trips steps over, with the neighbours of each by bits, and numbers of all sizes.
template <typename T>
std::vector<T> from_and_to() {
  using L = std::numeric_limits<T>;
  std::vector<T> values;
  for (const T x : {T{0}, T{1}, L::min(), L::max(), L::denorm_min(), L::infinity(), L::quiet_NaN(),
                    L::signaling_NaN()}) {
    for (const int step : {-1, 0, 1}) {
      const auto bits = static_cast<Bits<T>>(to_bits(x) + static_cast<Bits<T>>(step));
      values.push_back(from_bits<T>(bits));
      values.push_back(from_bits<T>(bits ^ Format<T>::kSign));
    }
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 50; ++i) values.push_back(from_bits<T>(static_cast<Bits<T>>(random())));
  return values;
}

// f(x, y), and what it raises.
template <typename T, typename F>
std::pair<T, FpFlags> watched(F f, T x, T y) {
  const WatchFpFlags watch;
  const T result = through_memory(f(through_memory(x), through_memory(y)));
  return {result, watch.raised()};
}

template <typename T>
void compare_with_library() {
  const std::vector<T> values = from_and_to<T>();
  for (const T x : values) {
    for (const T y : values) {
      SCOPED_TRACE(::testing::Message() << std::hexfloat << x << " towards " << y);
      const auto [expected, expected_flags] =
          watched<T>([](T from, T to) { return std::nextafter(from, to); }, x, y);
      const auto f = [](T from, T to) { return nextafter<Fused>(from, to); };
      const auto [got, flags] =
          watched<T>([&](T from, T to) { return evaluate<NextafterFlags>(f, from, to); }, x, y);
      ASSERT_EQ(flags, expected_flags);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(got));
        continue;
      }
      ASSERT_EQ(to_bits(got), to_bits(expected));
      if (says_yes<T>(NextafterFlags::special(x, y))) continue;
      ASSERT_EQ(expected_flags, 0);
      const T plain = nextafter<Fused, Domain::plain>(x, y);
      ASSERT_EQ(to_bits(plain), to_bits(expected));
    }
  }
}

TEST(MathParts, NextafterIsTheLibrarys) {
  compare_with_library<float>();
  compare_with_library<double>();
}

}  // namespace
}  // namespace dvm::core::math
