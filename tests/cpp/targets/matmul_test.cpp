// The cpu's kernels for products of matrices, of every kind and SIMD level, on random sizes and
// strides: against sums in double or in integers that wrap, and element by element against the
// product of one row and one column, whose bits they share.
#include <gtest/gtest.h>

#include <cstring>

#include "cpu/simd_level.h"
#include "targets/matmul_case.h"

namespace dvm::testing {
namespace {

using cpu::SimdLevel;

template <typename Run>
void for_each_kind(Run run) {
  for (const SimdLevel level : cpu::simd_levels()) {
#define DVM_MATMUL_KIND(name, stored, sum)                                            \
  {                                                                                   \
    SCOPED_TRACE(std::string(cpu::to_string(level)) + " " #name);                     \
    run.template operator()<core::Storage<DType::stored>, core::Storage<DType::sum>>( \
        cpu::matmul_kernels(level, MatmulKind::name));                                \
    if (::testing::Test::HasFatalFailure()) return;                                   \
  }
#include "cpu/matmul/matmul_kinds.def"
#include "whole.h"
#undef DVM_MATMUL_KIND
  }
}

int64_t random_size(Random& random, int64_t tile) {
  return one_of<int64_t>(random, {0, 1, 2, 3, tile - 1, tile, tile + 1, 2 * tile, 2 * tile + 3,
                                  pick(random, 1, 3 * tile)});
}

int64_t random_depth(const MatmulKernels& kernels, Random& random) {
  if (pick(random, 0, 19) == 0) return 700;
  return pick(random, 0, 3) == 0 ? pick(random, 1, 4) * kernels.depth
                                 : random_size(random, std::max(17, kernels.depth));
}

template <typename T, typename Sum>
void check_random_product(const MatmulKernels& kernels, Random& random) {
  const int64_t m = random_size(random, kernels.mr), n = random_size(random, kernels.nr);
  const int64_t k = random_depth(kernels, random);
  const Packing packing = random_packing(kernels, k, random);
  Matrix<T> a(random, m, k, random_layout_of_a(kernels, packing, random));
  Matrix<T> b(random, k, n, random_layout_of_b(packing, random));
  Matrix<Sum> c(random, m, n, Layout::rows, false);
  fill(random, a);
  fill(random, b);
  std::memset(&c.buffer()[0], 0x5a, c.buffer().size());
  const bool adds = pick(random, 0, 1) == 0;
  Matrix<Sum> before(random, m, n, Layout::rows, false);
  fill(random, before);
  for (int64_t i = 0; i < m && adds; ++i) {
    for (int64_t j = 0; j < n; ++j) c.at(i, j) = before.at(i, j);
  }
  SCOPED_TRACE(::testing::Message() << m << "," << k << "," << n << " packed " << packing.a
                                    << packing.b << packing.whole_b << " adds " << adds);
  multiply(kernels, a.view(), b.view(), m, k, n, packing, c.base(), c.view().row_stride, adds,
           pick(random, 0, 1) == 0 ? cpu::kRun * kernels.depth : k + kernels.depth);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const Sum start = adds ? before.at(i, j) : Sum{0}, got = c.at(i, j);
      ASSERT_TRUE(is_product(a, b, i, j, start, got)) << "at " << i << "," << j;
      if (i < m - 1 && j < n - 1 && pick(random, 0, 15) != 0) continue;
      Sum alone = start;
      multiply(kernels, a.row(i), b.column(j), 1, k, 1, {true, true},
               reinterpret_cast<std::byte*>(&alone), 0, adds);
      ASSERT_EQ(std::memcmp(&alone, &got, sizeof(Sum)), 0)
          << "at " << i << "," << j << ": " << got << " differs from " << alone;
    }
  }
  // Between the rows nothing has been written.
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) std::memset(&c.at(i, j), 0x5a, sizeof(Sum));
  }
  for (size_t i = 0; i < c.buffer().size(); ++i) ASSERT_EQ(c.buffer()[i], std::byte{0x5a}) << i;
}

TEST(Matmul, RandomProducts) {
  for_each_kind([]<typename T, typename Sum>(const MatmulKernels& kernels) {
    for (unsigned seed = 0; seed < 100; ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      check_random_product<T, Sum>(kernels, random);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

// Where a level rounds factors of f32, its blocks do what those of bf16 do with what it rounds.
TEST(Matmul, RoundedFactors) {
  for (const SimdLevel level : cpu::simd_levels()) {
    const MatmulKernels& kernels = cpu::f32_matmul_kernels(level, core::Precision::medium);
    if (&kernels == &cpu::matmul_kernels(level, MatmulKind::f32)) continue;
    const MatmulKernels& halves = cpu::matmul_kernels(level, MatmulKind::bf16);
    for (unsigned seed = 0; seed < 100; ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      const int64_t m = random_size(random, kernels.mr), n = random_size(random, kernels.nr);
      const int64_t k = random_depth(kernels, random);
      const Packing packing = random_packing(kernels, k, random);
      Matrix<float> a(random, m, k, random_layout_of_a(kernels, packing, random));
      Matrix<float> b(random, k, n, random_layout_of_b(packing, random));
      Matrix<core::BFloat16> rounded_a(random, m, k, Layout::rows, false);
      Matrix<core::BFloat16> rounded_b(random, k, n, Layout::rows, false);
      Matrix<float> c(random, m, n, Layout::rows, false), want(random, m, n, Layout::rows, false);
      SCOPED_TRACE(::testing::Message()
                   << m << "," << k << "," << n << " packed " << packing.b << packing.whole_b
                   << " a " << a.view().row_stride << "," << a.view().column_stride << " b "
                   << b.view().row_stride << "," << b.view().column_stride);
      const auto fill_both = [&](Matrix<float>& exact, Matrix<core::BFloat16>& rounded) {
        fill(random, exact);
        for (int64_t i = 0; i < exact.rows(); ++i) {
          for (int64_t j = 0; j < exact.columns(); ++j) {
            rounded.at(i, j) = {core::float_to_half<core::BFloat16>(exact.at(i, j))};
          }
        }
      };
      fill_both(a, rounded_a);
      fill_both(b, rounded_b);
      multiply(kernels, a.view(), b.view(), m, k, n, packing, c.base(), c.view().row_stride, false);
      multiply(halves, rounded_a.view(), rounded_b.view(), m, k, n, {true, true}, want.base(),
               want.view().row_stride, false);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          ASSERT_EQ(std::memcmp(&c.at(i, j), &want.at(i, j), sizeof(float)), 0)
              << "at " << i << "," << j << ": " << c.at(i, j) << " for " << want.at(i, j);
        }
      }
    }
  }
}

// Few rows, with both operands in place: by rows of B and by columns of it.
template <typename T, typename Sum>
void check_random_few_rows(const MatmulKernels& kernels, Random& random) {
  const int64_t per = kernels.nr / 2;
  const int64_t m = pick(random, 0, 9),
                n = random_size(random, pick(random, 0, 9) == 0 ? 1000 : per);
  const int64_t k = random_size(random, one_of<int64_t>(random, {9, 32, 200, 700}));
  const bool by_columns = pick(random, 0, 1) == 0, adds = pick(random, 0, 1) == 0;
  const Layout any[] = {Layout::rows, Layout::columns, Layout::any};
  Matrix<T> a(random, m, k, by_columns ? Layout::rows : any[pick(random, 0, 2)]);
  Matrix<T> b(random, k, n, by_columns ? Layout::columns : Layout::rows);
  Matrix<Sum> c(random, m, n, by_columns ? any[pick(random, 0, 2)] : Layout::rows, false);
  Matrix<Sum> before(random, m, n, Layout::rows, false);
  fill(random, a);
  fill(random, b);
  fill(random, before);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) c.at(i, j) = before.at(i, j);
  }
  SCOPED_TRACE(::testing::Message()
               << m << "," << k << "," << n << " by columns " << by_columns << " adds " << adds);
  // The same in all places, so that who shares out columns changes nothing.
  const auto run = [&](const MatrixView& x, const MatrixView& y, int64_t rows, int64_t columns,
                       const MatrixView& z) {
    auto* const to = const_cast<std::byte*>(z.data);
    if (by_columns) {
      kernels.dots({rows, k, columns, x, y, to, z.row_stride, z.column_stride, adds});
    } else {
      kernels.multiply_few_rows({.m = rows,
                                 .k = k,
                                 .n = columns,
                                 .a = x,
                                 .b = y,
                                 .c = to,
                                 .c_row_stride = z.row_stride,
                                 .adds = adds});
    }
  };
  run(a.view(), b.view(), m, n, c.view());
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const Sum start = adds ? before.at(i, j) : Sum{0}, got = c.at(i, j);
      ASSERT_TRUE(is_product(a, b, i, j, start, got)) << "at " << i << "," << j;
      Sum alone = start;
      run(a.row(i), b.column(j), 1, 1, {reinterpret_cast<std::byte*>(&alone), 0, 0});
      ASSERT_EQ(std::memcmp(&alone, &got, sizeof(Sum)), 0)
          << "at " << i << "," << j << ": " << got << " differs from " << alone;
      if (by_columns || kernels.depth > 1 || pick(random, 0, 15) != 0) continue;
      alone = start;
      multiply(kernels, a.row(i), b.column(j), 1, k, 1, {true, true},
               reinterpret_cast<std::byte*>(&alone), 0, adds);
      ASSERT_EQ(std::memcmp(&alone, &got, sizeof(Sum)), 0)
          << "at " << i << "," << j << ": " << got << " differs from multiply's " << alone;
    }
  }
}

TEST(Matmul, RandomProductsOfFewRows) {
  for_each_kind([]<typename T, typename Sum>(const MatmulKernels& kernels) {
    for (unsigned seed = 0; seed < how_many(30, 100); ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      check_random_few_rows<T, Sum>(kernels, random);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

// Runs of multiply-adds, as the header promises.
TEST(Matmul, AddsUpRunsAlongK) {
  for (const SimdLevel level : cpu::simd_levels()) {
    const MatmulKernels& kernels = cpu::matmul_kernels(level, MatmulKind::f32);
    Random random(1);
    const int64_t m = kernels.mr + 1, k = 2 * cpu::kRun + 77, n = kernels.nr + 3;
    Matrix<float> a(random, m, k, Layout::rows), b(random, k, n, Layout::rows);
    Matrix<float> c(random, m, n, Layout::rows, false);
    fill(random, a);
    fill(random, b);
    multiply(kernels, a.view(), b.view(), m, k, n, {true, true}, c.base(), c.view().row_stride,
             false, cpu::kRun);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (int64_t begin = 0; begin < k; begin += cpu::kRun) {
          float run = 0;
          for (int64_t l = begin; l < std::min(begin + cpu::kRun, k); ++l) {
            const float x = a.at(i, l), y = b.at(l, j);
            run = cpu::has_fused_arithmetic(level) ? std::fma(x, y, run) : x * y + run;
          }
          sum += run;
        }
        ASSERT_EQ(c.at(i, j), sum) << cpu::to_string(level) << " at " << i << "," << j;
      }
    }
  }
}

// In its row and column alone, and as the arithmetic of single numbers has it.
TEST(Matmul, InfinityAndNanStayInTheirRowsAndColumns) {
  for_each_kind([]<typename T, typename Sum>(const MatmulKernels& kernels) {
    if constexpr (std::is_floating_point_v<Sum>) {
      const auto special = [](double x) {
        if constexpr (core::AnyHalf<T>) {
          return T{core::float_to_half<T>(static_cast<float>(x))};
        } else {
          return static_cast<T>(x);
        }
      };
      const double infinity = std::numeric_limits<double>::infinity();
      for (unsigned seed = 0; seed < 20; ++seed) {
        Random random(seed);
        const int64_t m = 2 * kernels.mr + 1, n = kernels.nr + 5, k = pick(random, 1, 20);
        const Packing packing = random_packing(kernels, k, random);
        Matrix<T> a(random, m, k, Layout::rows, false), b(random, k, n, Layout::rows, false);
        Matrix<Sum> c(random, m, n, Layout::rows, false);
        fill(random, a);
        fill(random, b);
        for (int some = 0; some < 4; ++some) {
          const double x = one_of(random, {infinity, -infinity, 0.0, std::nan("")});
          a.at(pick(random, 0, m - 1), pick(random, 0, k - 1)) = special(x);
          b.at(pick(random, 0, k - 1), pick(random, 0, n - 1)) = special(-x);
        }
        multiply(kernels, a.view(), b.view(), m, k, n, packing, c.base(), c.view().row_stride,
                 false);
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            double want = 0;
            for (int64_t l = 0; l < k; ++l) want += to_double(a.at(i, l)) * to_double(b.at(l, j));
            const Sum got = c.at(i, j);
            ASSERT_EQ(std::isnan(want), std::isnan(got)) << seed << " at " << i << "," << j;
            if (std::isinf(want) || std::isinf(got)) {
              ASSERT_EQ(want, got);
            }
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace dvm::testing
