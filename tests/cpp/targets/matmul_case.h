// Random products of matrices for the kernels of one kind and level, in memory that has nothing but
// their elements.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "core/ops/dtype.h"
#include "core/ops/half.h"
#include "cpu/matmul/matmul_kernels.h"
#include "fuzz/exact_buffer.h"

namespace dvm::testing {

using core::DType;
using cpu::MatmulKernels;
using cpu::MatmulKind;
using cpu::MatrixView;
using Random = std::mt19937;

inline int64_t pick(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}
template <typename T>
T one_of(Random& random, std::initializer_list<T> all) {
  return all.begin()[pick(random, 0, static_cast<int64_t>(all.size()) - 1)];
}

// How the elements of a matrix lie in memory.
enum class Layout : uint8_t { rows, columns, any };

// A matrix of T in a buffer of its own.
template <typename T>
class Matrix {
 public:
  Matrix(Random& random, int64_t rows, int64_t columns, Layout layout, bool may_overlap = true)
      : rows_(rows), columns_(columns) {
    constexpr int64_t kSize = sizeof(T);
    const int64_t gap = one_of<int64_t>(random, {0, 0, 1, 3, 64});
    const bool any = layout == Layout::any;
    const bool by_columns = layout == Layout::columns || (any && pick(random, 0, 1) == 0);
    // Along the lines that are adjacent elements, or nearly so, and from one to the next.
    int64_t along = kSize * (any ? pick(random, 1, 3) : 1);
    int64_t next = kSize * ((by_columns ? rows : columns) + gap) * (any ? 3 : 1);
    if (any && pick(random, 0, 2) == 0) along = -along;
    if (pick(random, 0, 3) == 0) next = -next;
    if (may_overlap && any && pick(random, 0, 4) == 0) along = 0;
    if (may_overlap && pick(random, 0, 9) == 0) next = 0;
    const int64_t row = by_columns ? along : next, column = by_columns ? next : along;
    int64_t low = 0, high = 0;
    if (rows > 0 && columns > 0) {
      for (const int64_t reach : {(rows - 1) * row, (columns - 1) * column}) {
        (reach < 0 ? low : high) += reach;
      }
      high += kSize;
    }
    const auto fence = static_cast<fuzz::Fence>(pick(random, 0, fuzz::kFences - 1));
    buffer_ = std::make_unique<fuzz::ExactBuffer>(low, high, fence);
    view_ = {buffer_->base(), row, column};
  }

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  const MatrixView& view() const { return view_; }
  std::byte* base() const { return buffer_->base(); }
  fuzz::ExactBuffer& buffer() const { return *buffer_; }
  T& at(int64_t i, int64_t j) const {
    return *reinterpret_cast<T*>(base() + i * view_.row_stride + j * view_.column_stride);
  }
  // Row i of this one, as a matrix; column j.
  MatrixView row(int64_t i) const {
    return {base() + i * view_.row_stride, view_.row_stride, view_.column_stride};
  }
  MatrixView column(int64_t j) const {
    return {base() + j * view_.column_stride, view_.row_stride, view_.column_stride};
  }

 private:
  int64_t rows_, columns_;
  std::unique_ptr<fuzz::ExactBuffer> buffer_;
  MatrixView view_;
};

template <typename T>
double to_double(T x) {
  if constexpr (core::AnyHalf<T>) {
    return core::half_to_float<T>(x.bits);
  } else {
    return static_cast<double>(x);
  }
}
template <typename T>
T random_element(Random& random) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random() | uint64_t{random()} << 32);
  } else {
    const float x = std::uniform_real_distribution<float>(-1, 1)(random);
    if constexpr (core::AnyHalf<T>) {
      return T{core::float_to_half<T>(x)};
    } else {
      return static_cast<T>(x);
    }
  }
}
template <typename T>
void fill(Random& random, const Matrix<T>& matrix) {
  for (int64_t i = 0; i < matrix.rows(); ++i) {
    for (int64_t j = 0; j < matrix.columns(); ++j) matrix.at(i, j) = random_element<T>(random);
  }
}

// What an element should be: of integers all that there is, of floats how far from it a chain of
// roundings may end.
// That of row i of `a` and `k` elements of column j of `b`, from row `first` on.
template <typename T, typename Sum>
::testing::AssertionResult is_product(const Matrix<T>& a, const Matrix<T>& b, int64_t k, int64_t i,
                                      int64_t first, int64_t j, Sum before, Sum got) {
  if constexpr (std::is_integral_v<Sum>) {
    auto want = static_cast<uint64_t>(before);
    for (int64_t l = 0; l < k; ++l) {
      want += static_cast<uint64_t>(int64_t{a.at(i, l)}) *
              static_cast<uint64_t>(int64_t{b.at(first + l, j)});
    }
    if (static_cast<Sum>(want) == got) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << got << " instead of " << static_cast<Sum>(want);
  } else {
    long double want = before, size = std::fabs(before);
    for (int64_t l = 0; l < k; ++l) {
      const long double product = static_cast<long double>(to_double(a.at(i, l))) *
                                  static_cast<long double>(to_double(b.at(first + l, j)));
      want += product;
      size += std::fabs(product);
    }
    const long double bound =
        static_cast<long double>(k + 2) * std::numeric_limits<Sum>::epsilon() * size;
    if (std::fabs(want - got) <= bound) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << got << " instead of " << static_cast<double>(want)
                                         << " within " << static_cast<double>(bound);
  }
}
template <typename T, typename Sum>
::testing::AssertionResult is_product(const Matrix<T>& a, const Matrix<T>& b, int64_t i, int64_t j,
                                      Sum before, Sum got) {
  return is_product(a, b, a.columns(), i, 0, j, before, got);
}

// Which of the operands are packed first; B block by block, or for all blocks at once.
struct Packing {
  bool a, b;
  bool whole_b = false;
  bool packs_b() const { return b || whole_b; }
};
// How A may lie for that, and B.
inline Layout random_layout_of_a(const MatmulKernels& kernels, Packing packing, Random& random) {
  if (!packing.a && kernels.depth > 1) return Layout::rows;
  return one_of(random, {Layout::rows, Layout::columns, Layout::any});
}
inline Layout random_layout_of_b(Packing packing, Random& random) {
  if (!packing.packs_b()) return Layout::rows;
  return one_of(random, {Layout::rows, Layout::columns, Layout::any});
}

// Any way that the kernels have for a product with so many k.
inline Packing random_packing(const MatmulKernels& kernels, int64_t k, Random& random) {
  const bool a_in_place = kernels.reads_a_in_place && k % kernels.depth == 0;
  const bool b_in_place = kernels.in_place_rows > 0;
  return {!a_in_place || pick(random, 0, 1) == 0, !b_in_place || pick(random, 0, 1) == 0,
          pick(random, 0, 3) == 0};
}

inline std::unique_ptr<fuzz::ExactBuffer> packed_room(int64_t bytes) {
  return std::make_unique<fuzz::ExactBuffer>(0, bytes, fuzz::Fence::behind);
}

// C (+)= A B in blocks of at most `depth` along k, a multiple of the kernels' own.
inline void multiply(const MatmulKernels& kernels, MatrixView a, MatrixView b, int64_t m, int64_t k,
                     int64_t n, Packing packing, std::byte* c, int64_t c_row_stride, bool adds,
                     int64_t depth = std::numeric_limits<int64_t>::max()) {
  const auto all_of_b = packed_room(packing.whole_b ? kernels.packed_b_bytes(k, n) : 0);
  if (packing.whole_b) kernels.pack_b(b, k, n, all_of_b->base());
  const int64_t whole = k;
  do {
    const int64_t some = std::min(k, depth);
    cpu::MatmulBlock block{.m = m,
                           .k = some,
                           .n = n,
                           .a = a,
                           .b = b,
                           .c = c,
                           .c_row_stride = c_row_stride,
                           .adds = adds};
    const auto packed_a = packed_room(kernels.packed_a_bytes(m, some));
    const auto packed_b = packed_room(kernels.packed_b_bytes(some, n));
    if (packing.a) {
      kernels.pack_a(a, m, some, packed_a->base());
      block.packed_a = packed_a->base();
    }
    if (packing.whole_b) {
      block.packed_b = all_of_b->base() + kernels.b_panel_bytes(whole - k);
      block.b_panel_stride = kernels.b_panel_bytes(whole);
    } else if (packing.b) {
      kernels.pack_b(b, some, n, packed_b->base());
      block.packed_b = packed_b->base();
    }
    kernels.multiply(block);
    adds = true;
    k -= some;
    a.data += some * a.column_stride;
    b.data += some * b.row_stride;
  } while (k > 0);
}

}  // namespace dvm::testing
