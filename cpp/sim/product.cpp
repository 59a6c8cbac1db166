#include "sim/product.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/ops/scalar_ops.h"
#include "vm/run/plain_kernel.h"

namespace dvm::sim {

namespace {

using core::DType;
using core::Storage;
namespace scalar = core::scalar;

constexpr int64_t kDepth = 128;  // rows of b at a time
constexpr int64_t kPanel = 64;   // columns of b at a time
constexpr int kRows = 4;         // of a, at a time
constexpr int64_t kColumns = 8;  // of sums that are in registers at a time

// Factors are cast to the dtype of the sums once, and not for every product. What lies beyond the
// edges of the tile is left out, for zeros in its place could raise flags.
template <typename T, typename F>
class Product {
 public:
  explicit Product(const vm::TileArgs& args)
      : args_(args),
        d_(args, 0, args.dst),
        a_(args, 1, const_cast<std::byte*>(args.src[0])),
        b_(args, 2, const_cast<std::byte*>(args.src[1])) {}

  void run() {
    for (k_ = 0; k_ < args_.size; k_ += kDepth) {
      depth_ = std::min(kDepth, args_.size - k_);
      for (n_ = 0; n_ < args_.n; n_ += kPanel) {
        columns_ = std::min(kPanel, args_.n - n_);
        take_columns();
        int64_t m = 0;
        for (; m + kRows <= args_.m; m += kRows) add_rows<kRows>(m);
        for (; m < args_.m; ++m) add_rows<1>(m);
      }
    }
  }

 private:
  void take_columns() {
    for (int64_t k = 0; k < depth_; ++k) {
      for (int64_t n = 0; n < columns_; ++n)
        columns_of_b_[k][n] = scalar::cast<T>(b_(k_ + k, n_ + n));
    }
  }

  template <int kCount>
  void add_rows(int64_t m) {
    for (int row = 0; row < kCount; ++row) {
      for (int64_t k = 0; k < depth_; ++k)
        rows_of_a_[row][k] = scalar::cast<T>(a_(m + row, k_ + k));
    }
    int64_t n = 0;
    for (; n + kColumns <= columns_; n += kColumns) add<kCount, kColumns>(m, n);
    for (; n < columns_; ++n) add<kCount, 1>(m, n);
  }

  // To sums of some rows and columns, from column n of the panel on.
  template <int kCount, int64_t kWidth>
  void add(int64_t m, int64_t n) {
    T sums[kCount][kWidth];
    const bool begins = k_ == 0 && !args_.adds;
    for (int row = 0; row < kCount; ++row) {
      for (int64_t c = 0; c < kWidth; ++c) {
        sums[row][c] = begins ? scalar::mul{}(rows_of_a_[row][0], columns_of_b_[0][n + c])
                              : d_(m + row, n_ + n + c);
      }
    }
    add_up(sums, n, begins ? 1 : 0);
    for (int row = 0; row < kCount; ++row) {
      for (int64_t c = 0; c < kWidth; ++c) d_(m + row, n_ + n + c) = sums[row][c];
    }
  }

  // From row `k` of the panel on.
  template <int kCount, int64_t kWidth>
  void add_up(T (&sums)[kCount][kWidth], int64_t n, int64_t k) {
    for (; k < depth_; ++k) {
      for (int row = 0; row < kCount; ++row) {
        for (int64_t c = 0; c < kWidth; ++c) {
          const T product = scalar::mul{}(rows_of_a_[row][k], columns_of_b_[k][n + c]);
          sums[row][c] = scalar::add{}(sums[row][c], product);
        }
      }
    }
  }

  // The same of whole vectors, as any compiler has them in registers: both operations are those of
  // the processor.
  template <int kCount>
  requires std::is_floating_point_v<T>
  void add_up(T (&sums)[kCount][kColumns], int64_t n, int64_t k) {
    using Vector [[gnu::vector_size(16)]] = T;
    constexpr int64_t kLanes = sizeof(Vector) / sizeof(T), kVectors = kColumns / kLanes;
    Vector totals[kCount][kVectors];
    std::memcpy(totals, sums, sizeof(totals));
    for (; k < depth_; ++k) {
      Vector b[kVectors];
      std::memcpy(b, columns_of_b_[k] + n, sizeof(b));
      for (int row = 0; row < kCount; ++row) {
        const T a = rows_of_a_[row][k];
        for (int64_t v = 0; v < kVectors; ++v) totals[row][v] += a * b[v];
      }
    }
    std::memcpy(sums, totals, sizeof(totals));
  }

  const vm::TileArgs& args_;
  const vm::PlainMatrix<T> d_;
  const vm::PlainMatrix<F> a_, b_;
  int64_t k_ = 0, depth_ = 0, n_ = 0, columns_ = 0;
  T columns_of_b_[kDepth][kPanel];
  T rows_of_a_[kRows][kDepth];
};

template <DType D>
void multiply(const vm::TileArgs& args) noexcept {
  core::dispatch(vm::MatrixAux::of(D, args.aux).source, [&]<DType From>() {
    if constexpr (core::adds_products(D, From)) Product<Storage<D>, Storage<From>>(args).run();
  });
}

}  // namespace

void fill_products(vm::KernelTable& table) {
  for (int d = 0; d < core::kDTypeCount; ++d) {
    core::dispatch(static_cast<DType>(d), [&]<DType D>() {
      if constexpr (D != DType::boolean) table.entry(vm::Insn::matmul, D) = multiply<D>;
    });
  }
}

}  // namespace dvm::sim
