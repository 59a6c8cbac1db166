// Products of few rows, which take B as fast as memory gives it, for one SIMD level: by its rows if
// they are adjacent elements, by its columns if those are.
#if defined(DVM_CPU_MATMUL_THIN) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_MATMUL_THIN
#undef DVM_CPU_MATMUL_THIN
#else
#define DVM_CPU_MATMUL_THIN
#endif

#include <algorithm>
#include <utility>

#include "cpu/matmul/kinds-inl.h"
#include "cpu/matmul/matmul_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE::matmul {

// Some rows of B at a time are added to C, which stays in the first cache.
template <typename Kind>
class ByRows {
 public:
  static void run(const MatmulBlock& block) noexcept {
    const int64_t columns = std::max<int64_t>(kRoom / (kSum * std::max<int64_t>(block.m, 1)), 64);
    for (int64_t j = 0; j < block.n; j += columns) {
      ByRows(block, j, std::min(columns, block.n - j)).add_all();
    }
  }

 private:
  using Sum = typename Kind::Sum;
  static constexpr int64_t kStored = sizeof(typename Kind::Stored), kSum = sizeof(Sum);
  static constexpr int64_t kRoom = 16384;
  static constexpr int kPer = kLanes<Sum>;
  // Elements of A that are held in registers: half of those.
  static constexpr int kHeld = HWY_TARGET == HWY_AVX3 ? 16 : 8;

  ByRows(const MatmulBlock& block, int64_t j, int64_t columns)
      : block_(block), b_(block.b.data + j * kStored), c_(block.c + j * kSum), columns_(columns) {}

  void add_all() const {
    if (!block_.adds) {
      for (int64_t i = 0; i < block_.m; ++i) {
        std::memset(c_ + i * block_.c_row_stride, 0, static_cast<size_t>(columns_ * kSum));
      }
    }
    constexpr int64_t kDeepest = std::min(kHeld, 8);
    for (int64_t l = 0; l < block_.k; l += kDeepest) {
      const int64_t end = std::min(l + kDeepest, block_.k);
      int64_t i = 0;
      for (; i + 4 <= block_.m; i += 4) add<4, kHeld / 4>(i, l, end);
      if (i + 2 <= block_.m) add<2, kHeld / 2>(i, l, end), i += 2;
      if (i < block_.m) add<1, 8>(i, l, end);
    }
  }
  template <int kM, int kK>
  void add(int64_t i, int64_t l, int64_t end) const {
    for (; l + kK <= end; l += kK) add_rows<kM, kK>(i, l);
    for (; l < end; ++l) add_rows<kM, 1>(i, l);
  }

  // Rows l and so on of B to rows i and so on of C.
  template <int kM, int kK>
  [[gnu::noinline]] void add_rows(int64_t i, int64_t l) const {
    Vec<Sum> a[kM][kK];
    const std::byte* b[kK];
#pragma GCC unroll 8
    for (int r = 0; r < kK; ++r) {
      b[r] = b_ + (l + r) * block_.b.row_stride;
#pragma GCC unroll 4
      for (int q = 0; q < kM; ++q) {
        a[q][r] = broadcast(Kind::sum(block_.a.data + (i + q) * block_.a.row_stride +
                                      (l + r) * block_.a.column_stride));
      }
    }
    std::byte* const c = c_ + i * block_.c_row_stride;
    int64_t j = 0;
    for (; j + kPer <= columns_; j += kPer) {
      Vec<Sum> sums[kM];
#pragma GCC unroll 4
      for (int q = 0; q < kM; ++q) sums[q] = load<Sum>(c + q * block_.c_row_stride + j * kSum);
#pragma GCC unroll 8
      for (int r = 0; r < kK; ++r) {
        __builtin_prefetch(b[r] + kK * block_.b.row_stride + j * kStored, 0, 2);
        const Vec<Sum> x = Kind::sums(b[r] + j * kStored);
#pragma GCC unroll 4
        for (int q = 0; q < kM; ++q) sums[q] = mul_add<Sum>(a[q][r], x, sums[q]);
      }
#pragma GCC unroll 4
      for (int q = 0; q < kM; ++q) store(sums[q], c + q * block_.c_row_stride + j * kSum);
    }
    const int64_t rest = columns_ - j;
    if (rest == 0) return;
    for (int q = 0; q < kM; ++q) {
      std::byte* const p = c + q * block_.c_row_stride + j * kSum;
      Vec<Sum> sum = load_some<Sum>(p, rest);
      for (int r = 0; r < kK; ++r) {
        sum = mul_add<Sum>(a[q][r], Kind::some_sums(b[r] + j * kStored, rest), sum);
      }
      store_some<Sum>(sum, p, rest);
    }
  }

  const MatmulBlock& block_;
  const std::byte* const b_;
  std::byte* const c_;
  const int64_t columns_;
};

// Rows of A times columns of B, both adjacent elements.
template <typename Kind>
class Dots {
 public:
  static void run(const DotBlock& block) noexcept {
    const Dots dots(block);
    constexpr int64_t kColumns = kHeld / kMost;
    int64_t j = 0;
    for (; j + kColumns <= block.n; j += kColumns) dots.columns<kColumns>(j);
    for (; j < block.n; ++j) dots.columns<1>(j);
  }

 private:
  using Sum = typename Kind::Sum;
  static constexpr int64_t kStored = sizeof(typename Kind::Stored);
  static constexpr int kPer = kLanes<Sum>;
  static constexpr int kParts = kDotBytes / kBytes, kStep = kParts * kPer;
  // Pairs of a row and a column whose sums are held in registers at a time, and rows of them.
  static constexpr int kHeld = HWY_TARGET == HWY_AVX3 ? 8 : HWY_TARGET == HWY_AVX2 ? 2 : 1;
  static constexpr int kMost = HWY_TARGET == HWY_AVX3 ? 2 : 1;

  explicit Dots(const DotBlock& block) : block_(block) {}

  template <int kN>
  void columns(int64_t j) const {
    int64_t i = 0;
    for (; i + kMost <= block_.m; i += kMost) dots<kMost, kN>(i, j);
    for (; i < block_.m; ++i) dots<1, kN>(i, j);
  }

  template <int kM, int kN>
  [[gnu::noinline]] void dots(int64_t i, int64_t j) const {
    Vec<Sum> sums[kM][kN][kParts] = {};
    const std::byte* a[kM];
    const std::byte* b[kN];
    for (int q = 0; q < kM; ++q) a[q] = block_.a.data + (i + q) * block_.a.row_stride;
    for (int r = 0; r < kN; ++r) b[r] = block_.b.data + (j + r) * block_.b.column_stride;
    const int64_t whole = block_.k / kStep * kStep, rest = block_.k - whole;
    for (int64_t l = 0; l < whole; l += kStep) add<kM, kN>(a, b, l * kStored, sums);
    if (rest > 0) {
      // Zeros behind the last elements.
      std::byte room[kM + kN][kStep * kStored] = {};
      const auto last = [&](int line, const std::byte* p) {
        std::memcpy(room[line], p + whole * kStored, static_cast<size_t>(rest * kStored));
        return room[line];
      };
      for (int q = 0; q < kM; ++q) a[q] = last(q, a[q]);
      for (int r = 0; r < kN; ++r) b[r] = last(kM + r, b[r]);
      add<kM, kN>(a, b, 0, sums);
    }
#pragma GCC unroll 4
    for (int q = 0; q < kM; ++q) {
#pragma GCC unroll 8
      for (int r = 0; r < kN; ++r) {
        Sum total = folded(sums[q][r]);
        std::byte* const p =
            block_.c + (i + q) * block_.c_row_stride + (j + r) * block_.c_column_stride;
        if (block_.adds) {
          Sum before;
          std::memcpy(&before, p, sizeof(before));
          total += before;
        }
        std::memcpy(p, &total, sizeof(total));
      }
    }
  }

  template <int kM, int kN>
  DVM_ALWAYS_INLINE static void add(const std::byte* const (&a)[kM],
                                    const std::byte* const (&b)[kN], int64_t at,
                                    Vec<Sum> (&sums)[kM][kN][kParts]) {
#pragma GCC unroll 8
    for (int part = 0; part < kParts; ++part) {
      Vec<Sum> x[kM];
#pragma GCC unroll 4
      for (int q = 0; q < kM; ++q) x[q] = Kind::sums(a[q] + at + int64_t{part} * kPer * kStored);
#pragma GCC unroll 8
      for (int r = 0; r < kN; ++r) {
        const Vec<Sum> y = Kind::sums(b[r] + at + int64_t{part} * kPer * kStored);
#pragma GCC unroll 4
        for (int q = 0; q < kM; ++q) {
          sums[q][r][part] = mul_add<Sum>(x[q], y, sums[q][r][part]);
        }
      }
    }
  }

  DVM_ALWAYS_INLINE static Sum folded(const Vec<Sum> (&parts)[kParts]) {
    Vec<Sum> sums[kParts];
#pragma GCC unroll 8
    for (int part = 0; part < kParts; ++part) sums[part] = parts[part];
#pragma GCC unroll 4
    for (int half = kParts / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
      for (int part = 0; part < half; ++part) sums[part] += sums[part + half];
    }
    return within(sums[0]);
  }
  template <typename V>
  DVM_ALWAYS_INLINE static Sum within(V x) {
    constexpr int kCount = sizeof(V) / sizeof(Sum);
    if constexpr (kCount == 2) {
      return x[0] + x[1];
    } else {
      constexpr auto kHalf = std::make_index_sequence<kCount / 2>();
      return within(half<0>(x, kHalf) + half<kCount / 2>(x, kHalf));
    }
  }
  template <int kFrom, typename V, size_t... kIndex>
  DVM_ALWAYS_INLINE static auto half(V x, std::index_sequence<kIndex...>) {
    return __builtin_shufflevector(x, x, (kFrom + kIndex)...);
  }

  const DotBlock& block_;
};

}  // namespace dvm::cpu::HWY_NAMESPACE::matmul
HWY_AFTER_NAMESPACE();

#endif
