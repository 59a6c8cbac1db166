// Programs of products of matrices: on the cpu at each SIMD level and on a simulated target,
// batched and broadcast, of every layout, against sums in double or in integers that wrap; and on
// the cpu bit by bit the same in other tiles and with more threads.
#include <gtest/gtest.h>

#include <cstring>

#include "targets/every_target.h"
#include "targets/matmul_case.h"
#include "vm/encode/cube_program.h"
#include "vm/encode/emit.h"
#include "vm/encode/product_parts.h"
#include "vm/encode/product_program.h"
#include "vm/tile/tiler.h"
#include "whole.h"

namespace dvm::testing {
namespace {

// Some matrices of `rows` by `columns`, one below the other, or one for all of a product.
template <typename T>
struct Batch {
  Batch(Random& random, int64_t count, int64_t each, int64_t columns, Layout layout, bool written)
      : one(!written && count > 1 && pick(random, 0, 2) == 0),
        rows(each),
        all(random, one ? each : count * each, columns, layout, !written) {}

  int64_t stride() const { return one ? 0 : rows * all.view().row_stride; }
  T& at(int64_t batch, int64_t i, int64_t j) const {
    return all.at((one ? 0 : batch * rows) + i, j);
  }

  bool one;
  int64_t rows;
  Matrix<T> all;
};

// The product of row i of a matrix of `a` and column j of one of `b`.
template <typename T, typename Sum>
::testing::AssertionResult is_product(const Batch<T>& a, const Batch<T>& b, int64_t batch,
                                      int64_t i, int64_t j, Sum got) {
  const int64_t row = (a.one ? 0 : batch * a.rows) + i, first = b.one ? 0 : batch * b.rows;
  return is_product<T, Sum>(a.all, b.all, a.all.columns(), row, first, j, Sum{0}, got);
}

struct Extents {
  int64_t batches, m, k, n;
};

vm::Contraction contraction(const Extents& shape, DType sums, DType stored) {
  vm::Contraction made{.a = 0, .b = 1, .result = 2, .global_count = 3, .dtype = sums};
  made.source = stored;
  made.m.size = shape.m;
  made.n.size = shape.n;
  made.k.size = shape.k;
  if (shape.batches > 1) {
    made.batch_rank = 1;
    made.batch[0].size = shape.batches;
  }
  return made;
}

class Programs {
 public:
  template <typename T, typename Sum>
  Programs(const Extents& shape, DType sums, DType stored, const Batch<T>& a, const Batch<T>& b,
           const Batch<Sum>& c)
      : product_(contraction(shape, sums, stored)) {
    const auto place = [](vm::ContractionDim& dim, int64_t vm::ContractionDim::*of, int64_t by) {
      if (dim.size != 1) dim.*of = by;
    };
    place(product_.m, &vm::ContractionDim::a, a.all.view().row_stride);
    place(product_.k, &vm::ContractionDim::a, a.all.view().column_stride);
    place(product_.k, &vm::ContractionDim::b, b.all.view().row_stride);
    place(product_.n, &vm::ContractionDim::b, b.all.view().column_stride);
    place(product_.m, &vm::ContractionDim::result, c.all.view().row_stride);
    place(product_.n, &vm::ContractionDim::result, c.all.view().column_stride);
    if (shape.batches > 1) {
      product_.batch[0].a = a.stride();
      product_.batch[0].b = b.stride();
      product_.batch[0].result = c.stride();
    }
    globals_ = {a.all.base(), b.all.base(), c.all.base(), nullptr, nullptr};
  }

  const vm::Contraction& product() const { return product_; }
  void set_precision(core::Precision precision) { product_.precision = precision; }
  // The flags that were raised.
  core::FpFlags run(vm::Target& target, const vm::ProductTiling& tiling) {
    if (!vm::adds_up_parts(product_, tiling, target.traits())) {
      return run(target, vm::encode_product(product_, tiling, target.traits(), words_));
    }
    int64_t bytes = 0;
    const int64_t parts = vm::parts_along_k(product_, tiling);
    const vm::Contraction part = vm::product_of_part(product_, kWorkspace, bytes);
    std::vector<std::byte> workspace(static_cast<size_t>(parts * bytes), std::byte{0x5a});
    globals_[kWorkspace] = workspace.data();
    const core::FpFlags first =
        run(target, vm::encode_product(part, tiling, target.traits(), words_));
    const auto stage = std::make_unique<vm::Stage>();
    vm::add_up_parts(product_, part, bytes, parts, *stage);
    vm::Schedules schedules;
    schedules.begin(*stage, target.traits());
    vm::Drafts drafts;
    const auto program =
        vm::emit(schedules, vm::tile(schedules, vm::tile_limit(schedules)), words_, drafts);
    return static_cast<core::FpFlags>(first | run(target, program.value()));
  }
  core::FpFlags run(vm::Target& target) {
    if (vm::has_cube(target.traits())) {
      const vm::CubeTiling tiling = vm::tile_cube(product_, target.traits());
      return run(target, vm::encode_cube(product_, tiling, target.traits(), words_));
    }
    return run(target, vm::tile_product(product_, target.traits()));
  }

 private:
  static constexpr int kWorkspace = 3;
  core::FpFlags run(vm::Target& target, const vm::Program& program) const {
    vm::verify(program.words());
    return target.run(program, globals_).flags;
  }

  vm::Contraction product_;
  std::array<std::byte*, kWorkspace + vm::kFirstKept> globals_;
  std::vector<uint64_t> words_ = std::vector<uint64_t>(1024);
};

template <typename Sum>
std::vector<std::byte> bytes_of(const Batch<Sum>& c) {
  std::vector<std::byte> bytes(c.all.buffer().size());
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = c.all.buffer()[i];
  return bytes;
}

int64_t random_extent(Random& random, bool large) {
  if (large) return one_of<int64_t>(random, {191, 192, 193, 300, 521});
  return one_of<int64_t>(random, {1, 1, 2, 3, 4, 5, 11, 12, 13, 63, 64, 65, pick(random, 1, 90)});
}

// The first element of the first product.
double exact(const Batch<float>& a, const Batch<float>& b) {
  double sum = 0;
  for (int64_t l = 0; l < a.all.columns(); ++l)
    sum += double{a.at(0, 0, l)} * double{b.at(0, l, 0)};
  return sum;
}

// What the target has left in `c`, by one thread and in other tiles too.
template <typename Sum>
void check_same_bits(Programs& programs, const Extents& shape, const Batch<Sum>& c,
                     vm::Target& target, Random& random) {
  const auto once = bytes_of(c);
  static const auto alone = cpu::make_cpu_target(cpu::Threads::one);
  std::memset(&c.all.buffer()[0], 0x5a, c.all.buffer().size());
  programs.run(*alone);
  ASSERT_EQ(once, bytes_of(c)) << "by one thread";
  if (!vm::Matrices(programs.product()).are_in_place(target.traits())) return;
  const auto side = [&](int64_t size) {
    return size <= 8 ? size : std::min(size, pick(random, 9, size + 9));
  };
  std::memset(&c.all.buffer()[0], 0x5a, c.all.buffer().size());
  const int64_t k = vm::tile_product(programs.product(), target.traits()).k;
  const vm::ProductTiling other{side(shape.m), side(shape.n), k};
  programs.run(target, other);
  ASSERT_EQ(once, bytes_of(c)) << "in tiles of " << other.m << "," << other.n;
}

template <DType kStored, DType kSums>
void check_random_product(vm::Target& target, Random& random) {
  using T = core::Storage<kStored>;
  using Sum = core::Storage<kSums>;
  const bool simulated = target.traits().flags;
  const int large = simulated ? -1 : static_cast<int>(pick(random, 0, 8));
  Extents shape{pick(random, 0, 2) == 0 ? pick(random, 2, 5) : 1, random_extent(random, large == 0),
                random_extent(random, large == 1), random_extent(random, large == 2)};
  if (large == 3)
    shape = {shape.batches, std::min<int64_t>(shape.m, 9), shape.k, std::min<int64_t>(shape.n, 9)};
  if (large == 3) shape.k = one_of<int64_t>(random, {1029, 8195, 40001});
  if (shape.m * shape.k * shape.n > 4000000) shape.batches = 1;
  const Layout layouts[] = {Layout::rows, Layout::rows, Layout::columns, Layout::any};
  const Batch<T> a(random, shape.batches, shape.m, shape.k, layouts[pick(random, 0, 3)], false);
  const Batch<T> b(random, shape.batches, shape.k, shape.n, layouts[pick(random, 0, 3)], false);
  const Batch<Sum> c(random, shape.batches, shape.m, shape.n, layouts[pick(random, 0, 3)], true);
  fill(random, a.all);
  fill(random, b.all);
  std::memset(&c.all.buffer()[0], 0x5a, c.all.buffer().size());
  SCOPED_TRACE(::testing::Message()
               << shape.batches << " of " << shape.m << "," << shape.k << "," << shape.n);
  Programs programs(shape, kSums, kStored, a, b, c);
  programs.run(target);
  for (int64_t batch = 0; batch < shape.batches; ++batch) {
    for (int64_t i = 0; i < shape.m; ++i) {
      for (int64_t j = 0; j < shape.n; ++j) {
        const bool edge = i + 1 == shape.m || j + 1 == shape.n;
        if (!edge && shape.m * shape.n > 400 && pick(random, 0, 7) != 0) continue;
        ASSERT_TRUE(is_product(a, b, batch, i, j, c.at(batch, i, j))) << "at " << i << "," << j;
      }
    }
  }
  if (!simulated) check_same_bits(programs, shape, c, target, random);
}

TEST(Product, RandomProgramsOnEveryTarget) {
  const int threads = cpu::thread_count();
  cpu::set_thread_count(2);
  on_every_target([](vm::Target& target) {
#define DVM_MATMUL_KIND(name, stored, sum)                              \
  for (unsigned seed = 0; seed < how_many(20, 60); ++seed) {            \
    SCOPED_TRACE(::testing::Message() << #name << " by seed " << seed); \
    Random random(seed);                                                \
    check_random_product<DType::stored, DType::sum>(target, random);    \
    if (::testing::Test::HasFatalFailure()) return;                     \
  }
#include "cpu/matmul/matmul_kinds.def"
#undef DVM_MATMUL_KIND
  });
  cpu::set_thread_count(threads);
}

// Of how far off they are, split_factors_test.cpp knows more.
TEST(Product, LowerPrecisionIsTheSameInAllTiles) {
  const int threads = cpu::thread_count();
  cpu::set_thread_count(2);
  on_every_target([](vm::Target& target) {
    if (target.traits().flags) return;
    for (const auto precision : {core::Precision::high, core::Precision::medium}) {
      for (unsigned seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(::testing::Message() << core::to_string(precision) << " by seed " << seed);
        Random random(seed);
        const Extents shape{pick(random, 1, 2), random_extent(random, seed % 8 == 0),
                            random_extent(random, seed % 8 == 1),
                            random_extent(random, seed % 8 == 2)};
        const Batch<float> a(random, shape.batches, shape.m, shape.k, Layout::rows, false);
        const Batch<float> b(random, shape.batches, shape.k, shape.n,
                             one_of(random, {Layout::rows, Layout::columns}), false);
        const Batch<float> c(random, shape.batches, shape.m, shape.n, Layout::rows, true);
        fill(random, a.all);
        fill(random, b.all);
        std::memset(&c.all.buffer()[0], 0x5a, c.all.buffer().size());
        Programs programs(shape, DType::f32, DType::f32, a, b, c);
        programs.set_precision(precision);
        programs.run(target);
        ASSERT_NEAR(c.at(0, 0, 0), exact(a, b), 0.02 * static_cast<double>(shape.k));
        check_same_bits(programs, shape, c, target, random);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  });
  cpu::set_thread_count(threads);
}

// An infinity in the last row and column of each factor meets what fills up panels beside them,
// which is nobody's business.
TEST(Product, WhatFillsUpPanelsRaisesNothing) {
  on_every_target([](vm::Target& target) {
    for (const Extents& shape :
         {Extents{1, 7, 9, 5}, Extents{1, 40, 33, 67}, Extents{1, 3, 5, 9}}) {
      Random random(1);
      const Batch<float> a(random, 1, shape.m, shape.k, Layout::rows, false);
      const Batch<float> b(random, 1, shape.k, shape.n, Layout::rows, false);
      const Batch<float> c(random, 1, shape.m, shape.n, Layout::rows, true);
      const auto fill_with = [](const Matrix<float>& matrix, float x) {
        for (int64_t i = 0; i < matrix.rows(); ++i) {
          for (int64_t j = 0; j < matrix.columns(); ++j) matrix.at(i, j) = x;
        }
      };
      fill_with(a.all, 1);
      fill_with(b.all, 1);
      Programs programs(shape, DType::f32, DType::f32, a, b, c);
      a.all.at(shape.m - 1, shape.k - 1) = std::numeric_limits<float>::infinity();
      EXPECT_EQ(programs.run(target), 0);
      EXPECT_EQ(c.all.at(shape.m - 1, shape.n - 1), std::numeric_limits<float>::infinity());
      b.all.at(shape.k - 1, shape.n - 1) = 0;
      const core::FpFlags raised = programs.run(target);
      if (!target.traits().flags) {
        EXPECT_EQ(raised, core::kInvalid);
      }
      EXPECT_TRUE(std::isnan(c.all.at(shape.m - 1, shape.n - 1)));
    }
  });
}

}  // namespace
}  // namespace dvm::testing
