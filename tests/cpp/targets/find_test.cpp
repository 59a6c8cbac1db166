// Where a value is in a row: the first element that equals it, or the first NaN, on every level
// that runs here, at every place around vectors and blocks of them.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "core/ops/scalar_ops.h"
#include "cpu/reduce/find_kernels.h"

namespace dvm::testing {
namespace {

using core::DType;

template <DType D>
using Element = core::Storage<D>;

// Rows of `other` that have `there` from one of `places` on, and are asked for `wanted`.
template <DType D>
void expect_found(cpu::SimdLevel level, int64_t size, const std::vector<int64_t>& places,
                  Element<D> other, Element<D> there, Element<D> wanted) {
  std::vector<Element<D>> rows(places.size() * static_cast<size_t>(size), other);
  for (size_t k = 0; k < places.size(); ++k) {
    for (int64_t i = places[k]; i < size; i += 3) {
      rows[k * static_cast<size_t>(size) + static_cast<size_t>(i)] = there;
    }
  }
  const std::vector<Element<D>> values(places.size(), wanted);
  std::vector<int64_t> found(places.size(), -1);
  const auto bytes = [](const auto& of) { return reinterpret_cast<const std::byte*>(of.data()); };
  cpu::find_table(level).at[static_cast<int>(D)](
      {bytes(rows), static_cast<int64_t>(places.size()), size, bytes(values), found.data()});
  EXPECT_EQ(found, places) << core::to_string(D) << ", rows of " << size << " on "
                           << cpu::to_string(level);
}

template <DType D>
void test_find(cpu::SimdLevel level, int64_t size, const std::vector<int64_t>& places) {
  const auto of = [](double x) { return core::scalar::cast<Element<D>>(x); };
  expect_found<D>(level, size, places, of(1), of(3), of(3));
  expect_found<D>(level, size, places, of(3), of(0), of(0));
  if constexpr (core::is_floating(D)) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    constexpr double kInf = std::numeric_limits<double>::infinity();
    expect_found<D>(level, size, places, of(1), of(-0.0), of(0.0));
    expect_found<D>(level, size, places, of(6e-8), of(0.0), of(-0.0));
    expect_found<D>(level, size, places, of(kInf), of(-kNan), of(kNan));
    expect_found<D>(level, size, places, of(kInf), of(-kInf), of(-kInf));
  }
}

TEST(Find, FirstOfThoseThatEqualOrAreNan) {
  for (const cpu::SimdLevel level : cpu::simd_levels()) {
    for (int d = 0; d < core::kDTypeCount; ++d) {
      core::dispatch(static_cast<DType>(d), [&]<DType D>() {
        if constexpr (D != DType::boolean) {
          for (const int64_t size : {1, 2, 3, 7, 8, 9, 31, 33, 63, 64, 65, 100, 129, 257, 300}) {
            std::vector<int64_t> places(static_cast<size_t>(size));
            for (int64_t i = 0; i < size; ++i) places[static_cast<size_t>(i)] = i;
            test_find<D>(level, size, places);
          }
        }
      });
    }
  }
}

}  // namespace
}  // namespace dvm::testing
