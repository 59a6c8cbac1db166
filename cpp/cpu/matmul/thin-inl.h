// Products of few rows, which take B as fast as memory gives it, for one SIMD level: by its rows if
// they are adjacent elements, by its columns if those are.
#if defined(DVM_CPU_MATMUL_THIN) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_MATMUL_THIN
#undef DVM_CPU_MATMUL_THIN
#else
#define DVM_CPU_MATMUL_THIN
#endif

#include <algorithm>
#include <array>
#include <utility>

#include "cpu/matmul/kinds-inl.h"
#include "cpu/matmul/matmul_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE::matmul {

// Some rows of B at a time are added to the sums of a run, which stay in the first cache.
template <typename Kind>
class ByRows {
 public:
  static void run(const MatmulBlock& block) noexcept {
    const int64_t columns = std::max<int64_t>(kRoom / (kSum * std::max<int64_t>(block.m, 1)), 1);
    for (int64_t j = 0; j < block.n; j += columns) {
      ByRows(block, j, std::min(columns, block.n - j)).add_to_c();
    }
  }

 private:
  using Sum = typename Kind::Sum;
  static constexpr int64_t kStored = sizeof(typename Kind::Stored), kSum = sizeof(Sum);
  static constexpr int64_t kRoom = 16384;
  static constexpr int kPer = kLanes<Sum>;
  // Rows of B at a time and rows of A at most. So few rows of A that B is all that takes time want
  // fewer: memory gives eight at once faster than sixteen.
  static constexpr int kDeep = 16, kMost = 8, kFew = 4;

  ByRows(const MatmulBlock& block, int64_t j, int64_t columns)
      : block_(block),
        b_(block.b.data + j * kStored),
        c_(block.c + j * kSum),
        columns_(columns),
        row_(columns * kSum) {}

  void add_to_c() {
    for (int64_t l = 0; l < std::max<int64_t>(block_.k, 1); l += kRun) {
      std::memset(sums_, 0, static_cast<size_t>(block_.m * row_));
      add_rows_of_b(l, std::min(l + kRun, block_.k));
      const bool adds = block_.adds || l > 0;
      for (int64_t i = 0; i < block_.m; ++i) {
        put_row(sums_ + i * row_, c_ + i * block_.c_row_stride, adds);
      }
    }
  }

  void put_row(const std::byte* sums, std::byte* c, bool adds) const {
    if (!adds) {
      std::memcpy(c, sums, static_cast<size_t>(row_));
      return;
    }
    int64_t left = columns_;
    for (; left >= kPer; left -= kPer, c += kBytes, sums += kBytes) {
      store(Vec<Sum>(load<Sum>(c) + load<Sum>(sums)), c);
    }
    if (left > 0) store_some<Sum>(load_some<Sum>(c, left) + load_some<Sum>(sums, left), c, left);
  }

  void add_rows_of_b(int64_t l, int64_t end) {
    using Add = void (ByRows::*)(int64_t, int64_t, int64_t);
    static constexpr auto kAdd = []<size_t... kIndex>(std::index_sequence<kIndex...>) {
      return std::array<Add, kMost>{&ByRows::add_rows<static_cast<int>(kIndex) + 1>...};
    }
    (std::make_index_sequence<kMost>());
    // As even as can be: five and five, not eight and two.
    const int64_t parts = (block_.m + kMost - 1) / kMost;
    const int64_t deep = block_.m <= kFew ? kDeep / 2 : kDeep;
    for (; l < end; l += deep) {
      const int64_t depth = std::min(deep, end - l);
      for (int64_t i = 0, part = 0; part < parts; ++part) {
        const int64_t rows = (block_.m - i) / (parts - part);
        (this->*kAdd[static_cast<size_t>(rows) - 1])(i, l, depth);
        i += rows;
      }
    }
  }

  // `depth` rows of B from row l on to kM rows of sums from row i on: those of some columns stay in
  // registers meanwhile, with few rows of more columns.
  template <int kM>
  [[gnu::noinline]] void add_rows(int64_t i, int64_t l, int64_t depth) {
    constexpr int kN = kM <= 2 ? 4 : kM <= 6 || HWY_TARGET == HWY_AVX3 ? 2 : 1;
    Sum a[kDeep * kM];
    take_a(i, kM, l, depth, a);
    const std::byte* b = b_ + l * block_.b.row_stride;
    std::byte* c = sums_ + i * row_;
    int64_t left = columns_;
    constexpr int kWide = kN * kPer;
    for (; left >= kWide; left -= kWide, b += kWide * kStored, c += kWide * kSum) {
      add_tile<kM, kN>(a, b, c, depth);
    }
    for (; left >= kPer; left -= kPer, b += kPer * kStored, c += kPer * kSum) {
      add_tile<kM, 1>(a, b, c, depth);
    }
    if (left > 0) add_last(a, kM, b, c, left, depth);
  }
  // What the number of rows need not be known for is compiled once.
  [[gnu::noinline, gnu::noclone]] void take_a(int64_t i, int64_t rows, int64_t l, int64_t depth,
                                              Sum* a) const {
    for (int64_t r = 0; r < depth; ++r) {
      for (int64_t q = 0; q < rows; ++q) {
        *a++ = Kind::sum(block_.a.data + (i + q) * block_.a.row_stride +
                         (l + r) * block_.a.column_stride);
      }
    }
  }
  // The columns behind the last whole vector.
  [[gnu::noinline, gnu::noclone]] void add_last(const Sum* a, int64_t rows, const std::byte* b,
                                                std::byte* c, int64_t left, int64_t depth) const {
    for (int64_t q = 0; q < rows; ++q, c += row_) {
      Vec<Sum> sum = load_some<Sum>(c, left);
      for (int64_t r = 0; r < depth; ++r) {
        const Vec<Sum> x = Kind::some_sums(b + r * block_.b.row_stride, left);
        sum = mul_add<Sum>(broadcast(a[r * rows + q]), x, sum);
      }
      store_some<Sum>(sum, c, left);
    }
  }
  template <int kM, int kN>
  DVM_ALWAYS_INLINE void add_tile(const Sum (&a)[kDeep * kM], const std::byte* b, std::byte* c,
                                  int64_t depth) {
    Vec<Sum> sums[kM][kN];
    const auto each = [&](auto f) {
#pragma GCC unroll 8
      for (int q = 0; q < kM; ++q) {
#pragma GCC unroll 4
        for (int v = 0; v < kN; ++v) f(sums[q][v], c + q * row_ + v * kBytes);
      }
    };
    each([](Vec<Sum>& sum, const std::byte* p) { sum = load<Sum>(p); });
    const int64_t next = asks_ahead_ ? depth * block_.b.row_stride : 0;
    for (int64_t r = 0; r < depth; ++r, b += block_.b.row_stride) {
      Vec<Sum> x[kN];
#pragma GCC unroll 4
      for (int v = 0; v < kN; ++v) {
        __builtin_prefetch(b + next + v * kPer * kStored, 0, 2);
        x[v] = Kind::sums(b + v * kPer * kStored);
      }
#pragma GCC unroll 8
      for (int q = 0; q < kM; ++q) {
        const Vec<Sum> y = broadcast(a[r * kM + q]);
#pragma GCC unroll 4
        for (int v = 0; v < kN; ++v) sums[q][v] = mul_add<Sum>(y, x[v], sums[q][v]);
      }
    }
    each([](const Vec<Sum>& sum, std::byte* p) { store(sum, p); });
  }

  // Whether it helps to ask for the next rows of B. On AMD's processors these push the present ones
  // out of the first cache where rows lie a multiple of 1 KiB apart: with 4 KiB, 1.7 times the
  // time.
  static bool asks_ahead(int64_t step) {
#if HWY_ARCH_X86
    static const bool is_amd = __builtin_cpu_is("amd");
    return !is_amd || step % 1024 != 0;
#else
    return true;
#endif
  }

  const MatmulBlock& block_;
  const bool asks_ahead_ = asks_ahead(block_.b.row_stride);
  const std::byte* const b_;
  std::byte* const c_;
  const int64_t columns_, row_;  // of sums: elements, bytes
  alignas(64) std::byte sums_[kRoom];
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
