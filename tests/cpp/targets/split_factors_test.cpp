// Products of f32 whose factors are sums of two bf16 (precision "high"), where a level has them:
// within their bound of sums in double, and infinities, NaN and numbers next to infinity as in f32.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "cpu/simd_level.h"
#include "targets/matmul_case.h"

namespace dvm::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Those of the levels that split factors.
std::vector<const MatmulKernels*> splitting_kernels() {
  std::vector<const MatmulKernels*> found;
  for (const cpu::SimdLevel level : cpu::simd_levels()) {
    const MatmulKernels& kernels = cpu::f32_matmul_kernels(level, core::Precision::high);
    if (&kernels != &cpu::matmul_kernels(level, MatmulKind::f32)) found.push_back(&kernels);
  }
  return found;
}

class SplitFactors : public ::testing::Test {
 protected:
  void SetUp() override {
    if (splitting_kernels().empty()) GTEST_SKIP() << "this machine has no tiles of matrices (AMX)";
  }
};

struct Product {
  Product(Random& random, int64_t m, int64_t k, int64_t n, Layout of_a, Layout of_b)
      : a(random, m, k, of_a, false),
        b(random, k, n, of_b, false),
        c(random, m, n, Layout::rows, false) {}

  void run(const MatmulKernels& kernels, Packing packing, bool adds = false,
           int64_t depth = std::numeric_limits<int64_t>::max()) const {
    multiply(kernels, a.view(), b.view(), a.rows(), a.columns(), b.columns(), packing, c.base(),
             c.view().row_stride, adds, depth);
  }
  // As sums in double are: NaN, an infinity, or a number.
  double exact(int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t l = 0; l < a.columns(); ++l) {
      sum += static_cast<double>(a.at(i, l)) * static_cast<double>(b.at(l, j));
    }
    return sum;
  }
  double size(int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t l = 0; l < a.columns(); ++l) {
      sum += std::fabs(static_cast<double>(a.at(i, l)) * static_cast<double>(b.at(l, j)));
    }
    return sum;
  }

  Matrix<float> a, b, c;
};

// Of what sums up to `size` in absolute values: what factors lose, and what additions do.
double bound(int64_t k, double size) {
  constexpr double kLost = 3.0 / (1 << 16);
  return (kLost + 3.0 * static_cast<double>(k + 2) * std::numeric_limits<float>::epsilon()) * size;
}

constexpr int64_t kSizes[] = {0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127};

TEST_F(SplitFactors, StayWithinTheirBound) {
  for (const MatmulKernels* kernels : splitting_kernels()) {
    for (unsigned seed = 0; seed < 150; ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      const auto any_size = [&] { return kSizes[pick(random, 0, std::size(kSizes) - 1)]; };
      const int64_t m = any_size(), n = any_size(),
                    k = pick(random, 0, 19) == 0 ? 1000 : any_size();
      const Packing packing = random_packing(*kernels, k, random);
      const Product product(random, m, k, n, random_layout_of_a(*kernels, packing, random),
                            random_layout_of_b(packing, random));
      fill(random, product.a);
      fill(random, product.b);
      // From very small to very large, which neither sum nor vanish.
      for (int64_t l = 0; l < k; ++l) {
        const int power = static_cast<int>(pick(random, -50, 50));
        for (int64_t i = 0; i < m; ++i) product.a.at(i, l) = std::ldexp(product.a.at(i, l), power);
        for (int64_t j = 0; j < n; ++j) product.b.at(l, j) = std::ldexp(product.b.at(l, j), -power);
      }
      const bool adds = pick(random, 0, 1) == 0;
      for (int64_t i = 0; i < m && adds; ++i) {
        for (int64_t j = 0; j < n; ++j) product.c.at(i, j) = 1;
      }
      product.run(*kernels, packing, adds, pick(random, 0, 1) == 0 ? kernels->depth : 2048);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          const float got = product.c.at(i, j);
          ASSERT_NEAR(got, product.exact(i, j) + adds, bound(k, product.size(i, j) + adds))
              << m << "," << k << "," << n << " at " << i << "," << j;
          if (pick(random, 0, 15) != 0) continue;
          float alone = adds ? 1 : 0;
          multiply(*kernels, product.a.row(i), product.b.column(j), 1, k, 1, {true, true},
                   reinterpret_cast<std::byte*>(&alone), 0, adds);
          ASSERT_EQ(std::memcmp(&alone, &got, sizeof(got)), 0) << got << " differs from " << alone;
        }
      }
    }
  }
}

TEST_F(SplitFactors, KeepInfinitiesAndNan) {
  for (const MatmulKernels* kernels : splitting_kernels()) {
    for (unsigned seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      const int64_t m = pick(random, 1, 70), n = pick(random, 1, 70), k = pick(random, 1, 70);
      const Packing packing = random_packing(*kernels, k, random);
      const Product product(random, m, k, n, Layout::rows, Layout::rows);
      fill(random, product.a);
      fill(random, product.b);
      for (int some = 0; some < 4; ++some) {
        const float x = one_of(random, {kInfinity, -kInfinity, 0.0F, std::nanf(""), 1.0F});
        product.a.at(pick(random, 0, m - 1), pick(random, 0, k - 1)) = x;
        product.b.at(pick(random, 0, k - 1), pick(random, 0, n - 1)) = -x;
      }
      product.run(*kernels, packing, false, pick(random, 0, 1) == 0 ? kernels->depth : 2048);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          const double want = product.exact(i, j);
          const float got = product.c.at(i, j);
          ASSERT_EQ(std::isnan(want), std::isnan(got)) << "at " << i << "," << j;
          if (std::isnan(want)) continue;
          ASSERT_EQ(std::isinf(want), std::isinf(got)) << "at " << i << "," << j;
          if (std::isinf(want)) {
            ASSERT_EQ(got, static_cast<float>(want));
          } else {
            ASSERT_NEAR(got, want, bound(k, product.size(i, j)));
          }
        }
      }
    }
  }
}

// Rounded to bf16 they would be infinities.
TEST_F(SplitFactors, TakeNumbersNextToInfinity) {
  for (const MatmulKernels* kernels : splitting_kernels()) {
    Random random(3);
    const Product product(random, 20, 5, 20, Layout::rows, Layout::rows);
    const float greatest = std::numeric_limits<float>::max();
    for (int64_t l = 0; l < 5; ++l) {
      for (int64_t i = 0; i < 20; ++i) product.a.at(i, l) = l == 2 ? -greatest : greatest;
      for (int64_t j = 0; j < 20; ++j) product.b.at(l, j) = l == 4 ? 1e-30F : 1e-9F;
    }
    product.run(*kernels, {true, true});
    for (int64_t i = 0; i < 20; ++i) {
      for (int64_t j = 0; j < 20; ++j) {
        ASSERT_NEAR(product.c.at(i, j), product.exact(i, j), bound(5, product.size(i, j)));
      }
    }
  }
}

// As zeros, factors and products both; never as anything else.
TEST_F(SplitFactors, TakeSubnormalNumbersAsZeros) {
  for (const MatmulKernels* kernels : splitting_kernels()) {
    Random random(4);
    const Product product(random, 3, 2, 3, Layout::rows, Layout::rows);
    for (int64_t i = 0; i < 3; ++i) {
      product.a.at(i, 0) = 1e-40F, product.a.at(i, 1) = 1e-30F;
      product.b.at(0, i) = 1e30F, product.b.at(1, i) = 1e-15F;
    }
    product.run(*kernels, {true, true});
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 3; ++j) ASSERT_EQ(product.c.at(i, j), 0);
    }
  }
}

}  // namespace
}  // namespace dvm::testing
