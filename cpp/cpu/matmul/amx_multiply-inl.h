// The block of a product that stays in tile registers while k runs, four tiles of C, and the walk
// over a cache block in such squares.
#if defined(DVM_CPU_AMX_MULTIPLY) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_AMX_MULTIPLY
#undef DVM_CPU_AMX_MULTIPLY
#else
#define DVM_CPU_AMX_MULTIPLY
#endif

#include "cpu/matmul/amx_pack-inl.h"
#include "cpu/matmul/matmul_kernels.h"

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE::amx_kinds {

// Registers: C as it lies, A's upper and lower tile, B's left and right one.
inline constexpr int kC = 0, kUpper = 4, kLower = 5, kLeft = 6, kRight = 7;

struct Square {
  int64_t units;
  const std::byte* a;
  int64_t a_row, a_unit, a_lower;  // from row to row, unit to unit, and to the lower tile
  const std::byte* b;
  std::byte* c;
  int64_t c_row;
  bool adds;
};

// Of a square of which only its upper or left tiles are there, those alone.
template <bool kHasLower, bool kHasRight, typename F>
DVM_ALWAYS_INLINE void each_of_c(std::byte* c, int64_t c_row, F f) {
  constexpr int64_t kDown = cpu::amx::kTileRows;
  f.template operator()<kC>(c);
  if constexpr (kHasRight) f.template operator()<kC + 1>(c + cpu::amx::kTileRowBytes);
  if constexpr (kHasLower) f.template operator()<kC + 2>(c + kDown * c_row);
  if constexpr (kHasLower && kHasRight) {
    f.template operator()<kC + 3>(c + kDown * c_row + cpu::amx::kTileRowBytes);
  }
}
template <typename Kind, bool kHasLower, bool kHasRight>
DVM_ALWAYS_INLINE void add_products() {
  Kind::template add_products<kC, kUpper, kLeft>();
  if constexpr (kHasRight) Kind::template add_products<kC + 1, kUpper, kRight>();
  if constexpr (kHasLower) Kind::template add_products<kC + 2, kLower, kLeft>();
  if constexpr (kHasLower && kHasRight) Kind::template add_products<kC + 3, kLower, kRight>();
}

// `kAll`: of all parts; else of the first ones alone.
template <typename Kind, bool kHasLower, bool kHasRight, bool kAll>
DVM_ALWAYS_INLINE void run_along_k(const Square& s) {
  const std::byte *a = s.a, *b = s.b;
  constexpr int64_t kPart = 2 * cpu::amx::kTileBytes;
  const auto load_a = [&](int part) {
    cpu::amx::load_past<kUpper>(a + part * kPart, s.a_row);
    if constexpr (kHasLower) cpu::amx::load_past<kLower>(a + part * kPart + s.a_lower, s.a_row);
  };
  const auto load_b = [&](int part) {
    constexpr int64_t kRow = cpu::amx::kTileRowBytes;
    cpu::amx::load<kLeft>(b + part * kPart, kRow);
    if constexpr (kHasRight) cpu::amx::load<kRight>(b + part * kPart + cpu::amx::kTileBytes, kRow);
  };
  for (int64_t unit = 0; unit < s.units; ++unit, a += s.a_unit, b += Kind::kParts * kPart) {
    load_a(0);
    if constexpr (Kind::kParts == 2 && kAll) {
      load_b(1);
      add_products<Kind, kHasLower, kHasRight>();
      load_b(0);
      add_products<Kind, kHasLower, kHasRight>();
      load_a(1);
    } else {
      load_b(0);
    }
    add_products<Kind, kHasLower, kHasRight>();
  }
}
template <typename Kind, bool kHasLower, bool kHasRight, bool kAll>
DVM_ALWAYS_INLINE void compute(const Square& s, bool adds, std::byte* to, int64_t to_row) {
  each_of_c<kHasLower, kHasRight>(s.c, s.c_row, [&]<int kTile>(const std::byte* c) {
    adds ? cpu::amx::load<kTile>(c, s.c_row) : cpu::amx::clear<kTile>();
  });
  run_along_k<Kind, kHasLower, kHasRight, kAll>(s);
  each_of_c<kHasLower, kHasRight>(
      to, to_row, [&]<int kTile>(std::byte* c) { cpu::amx::store<kTile>(c, to_row); });
}

// Two parts of a factor make NaN of infinities: inf * (y + rest) where the rest is zero or of
// another sign than y. Such sums are those of the first parts alone.
template <typename Kind, bool kHasLower, bool kHasRight>
[[gnu::noinline]] void square_of_parts(const Square& s, int64_t rows, int64_t columns) {
  constexpr int64_t kRow = kPanelLines * sizeof(float), kVector = matmul::kBytes;
  alignas(64) float all[kPanelLines * kPanelLines], first[kPanelLines * kPanelLines];
  const auto at = [](float* base, int64_t i, int64_t v) {
    return reinterpret_cast<std::byte*>(base) + i * kRow + v * kVector;
  };
  const auto room = [&](float* base) { return reinterpret_cast<std::byte*>(base); };
  compute<Kind, kHasLower, kHasRight, true>(s, s.adds, room(all), kRow);
  const auto each = [&](auto f) {
    for (int64_t v = 0; v < 1 + kHasRight; ++v) {
      const int64_t count = std::min<int64_t>(columns - v * 16, 16);
      for (int64_t i = 0; i < rows; ++i) {
        f(matmul::load<float>(at(all, i, v)), i, v, count, s.c + i * s.c_row + v * kVector);
      }
    }
  };
  Vec<int32_t> unordered{};
  each([&](Vec<float> x, int64_t, int64_t, int64_t, std::byte*) { unordered |= x != x; });
  // Behind the columns that are there nothing has been stored.
  if (_mm512_test_epi32_mask(reinterpret_cast<__m512i>(unordered),
                             reinterpret_cast<__m512i>(unordered)) != 0) [[unlikely]] {
    compute<Kind, kHasLower, kHasRight, false>(s, false, room(first), kRow);
    each([&](Vec<float> x, int64_t i, int64_t v, int64_t count, std::byte* c) {
      Vec<float> other = matmul::load<float>(at(first, i, v));
      if (s.adds) other += load_some<float>(c, count);
      matmul::store_some<float>(x != x ? other : x, c, count);
    });
    return;
  }
  each([](Vec<float> x, int64_t, int64_t, int64_t count, std::byte* c) {
    matmul::store_some<float>(x, c, count);
  });
}

template <typename Kind>
class MultiplyTiles {
 public:
  static void run(const MatmulBlock& block) noexcept {
    const MultiplyTiles multiply(block);
    // Squares that are whole, and what is left over along either side: sizes of tiles are set once
    // for each of these.
    const Range rows[] = {{0, block.m / kSide * kSide}, {block.m / kSide * kSide, block.m}};
    const Range columns[] = {{0, block.n / kSide * kSide}, {block.n / kSide * kSide, block.n}};
    for (const Range& some : columns) {
      for (const Range& high : rows) {
        if (high.begin < high.end && some.begin < some.end) multiply.range(high, some);
      }
    }
  }

 private:
  static constexpr int64_t kSide = kPanelLines, kHalf = cpu::amx::kTileRows;
  static constexpr int64_t kStored = sizeof(typename Kind::Stored);
  static constexpr int64_t kSum = sizeof(typename Kind::Sum);
  static constexpr int64_t kUnit = int64_t{2} * Kind::kParts * cpu::amx::kTileBytes;  // of a panel

  struct Range {
    int64_t begin, end;
  };

  explicit MultiplyTiles(const MatmulBlock& block) : block_(block) {}

  // Of whole squares or of one in each row or column.
  void range(const Range& rows, const Range& columns) const {
    const int64_t m = std::min(kSide, rows.end - rows.begin);
    const int64_t n = std::min(kSide, columns.end - columns.begin);
    const cpu::amx::ConfiguredTiles tiles(sizes(m, n));
    if (m > kHalf) {
      n > kHalf ? squares<true, true>(rows, columns, m, n)
                : squares<true, false>(rows, columns, m, n);
    } else {
      n > kHalf ? squares<false, true>(rows, columns, m, n)
                : squares<false, false>(rows, columns, m, n);
    }
  }

  static cpu::amx::TileSizes sizes(int64_t m, int64_t n) {
    cpu::amx::TileSizes sizes;
    const auto set = [&](int tile, int64_t rows, int64_t bytes) {
      if (rows <= 0 || bytes <= 0) return;
      sizes.rows[tile] = static_cast<uint8_t>(rows);
      sizes.row_bytes[tile] = static_cast<uint16_t>(bytes);
    };
    const int64_t upper = std::min(m, kHalf), lower = m - upper;
    const int64_t left = std::min(n, kHalf) * kSum, right = n * kSum - left;
    set(kC, upper, left);
    set(kC + 1, upper, right);
    set(kC + 2, lower, left);
    set(kC + 3, lower, right);
    set(kUpper, upper, cpu::amx::kTileRowBytes);
    set(kLower, lower, cpu::amx::kTileRowBytes);
    set(kLeft, cpu::amx::kTileRows, left);
    set(kRight, cpu::amx::kTileRows, right);
    return sizes;
  }

  template <bool kHasLower, bool kHasRight>
  [[gnu::noinline]] void squares(const Range& rows, const Range& columns, int64_t m,
                                 int64_t n) const {
    const bool packed = block_.packed_a != nullptr;
    const int64_t units = (block_.k + Kind::kDepth - 1) / Kind::kDepth;
    const int64_t b_panel = block_.b_panel_stride != 0 ? block_.b_panel_stride : units * kUnit;
    Square s{.units = units,
             .a = nullptr,
             .a_row = packed ? cpu::amx::kTileRowBytes : block_.a.row_stride,
             .a_unit = packed ? kUnit : Kind::kDepth * kStored,
             .a_lower = packed ? cpu::amx::kTileBytes : kHalf * block_.a.row_stride,
             .b = nullptr,
             .c = nullptr,
             .c_row = block_.c_row_stride,
             .adds = block_.adds};
    for (int64_t j = columns.begin; j < columns.end; j += kSide) {
      s.b = block_.packed_b + j / kSide * b_panel;
      for (int64_t i = rows.begin; i < rows.end; i += kSide) {
        s.a = packed ? block_.packed_a + i / kSide * units * kUnit
                     : block_.a.data + i * block_.a.row_stride;
        s.c = block_.c + i * block_.c_row_stride + j * kSum;
        if constexpr (Kind::kParts == 1) {
          compute<Kind, kHasLower, kHasRight, true>(s, s.adds, s.c, s.c_row);
        } else {
          square_of_parts<Kind, kHasLower, kHasRight>(s, m, n);
        }
      }
    }
  }

  const MatmulBlock& block_;
};

}  // namespace dvm::cpu::HWY_NAMESPACE::amx_kinds
HWY_AFTER_NAMESPACE();

#endif

#endif
