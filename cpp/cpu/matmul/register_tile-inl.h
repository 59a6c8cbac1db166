// The block of a product that stays in registers while k runs, and the walk over a cache block in
// such tiles, for one SIMD level.
#if defined(DVM_CPU_MATMUL_REGISTER_TILE) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_MATMUL_REGISTER_TILE
#undef DVM_CPU_MATMUL_REGISTER_TILE
#else
#define DVM_CPU_MATMUL_REGISTER_TILE
#endif

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "cpu/matmul/kinds-inl.h"
#include "cpu/matmul/matmul_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE::matmul {

// Of 32 registers 24 are sums, of 16 there are 12; the others hold a row of B and an element of A.
inline constexpr int kRows = 6;
inline constexpr int kVectors = HWY_TARGET == HWY_AVX3 ? 4 : 2;

struct TileOperands {
  int64_t k;
  const std::byte* a;
  int64_t a_row, a_step;  // from row to row, from Unit to Unit along k
  const std::byte* b;
  int64_t b_step;         // of Units the same, of elements from row to row
  const int32_t* b_rows;  // of OfB::listed: from b to each
  std::byte* c;
  int64_t c_row;
  bool adds;
  int64_t columns;  // of B that are there, fewer than a vector has: for OfB::part alone
};

// In place of the last row of B where the last Unit of a column lacks its second half.
alignas(kBytes) inline constexpr std::byte kZeros[kVectors * kBytes] = {};

// Units in a panel, elements where they lie, or the last few of those; rows of Units at places that
// are listed.
enum class OfB : uint8_t { units, elements, part, listed };

// The sums are an array, which stays in registers because no loop over it is left.
template <typename Kind, int kM, int kN, OfB kB>
[[gnu::noinline]] void tile(const TileOperands& args) {
  using Unit = typename Kind::Unit;
  using Sum = typename Kind::Sum;
  constexpr int kDepth = Kind::kDepth;
  constexpr bool kUnits = kB == OfB::units || kB == OfB::listed;
  constexpr int64_t kElement = kUnits ? sizeof(Unit) : sizeof(typename Kind::Stored);
  const std::byte* pa = args.a;
  const std::byte* pb = args.b;
  const int32_t* b_row = args.b_rows;
  const int64_t b_step = kUnits ? args.b_step : kDepth * args.b_step;
  int64_t left = args.k;
  bool adds = args.adds;
  do {
    Vec<Sum> c[kM][kN] = {};
    const int64_t end = std::max<int64_t>(left - kRun * kDepth, 0);
    for (; left > end; left -= kDepth, pa += args.a_step, pb += b_step) {
      if constexpr (kB == OfB::listed) pb = args.b + *b_row++;
      const std::byte* const behind = left >= kDepth ? pb + args.b_step : kZeros;
      Vec<Unit> b[kN];
#pragma GCC unroll 4
      for (int v = 0; v < kN; ++v) {
        constexpr int64_t kAlong = kLanes<Sum> * kElement;
        if constexpr (kB != OfB::listed) __builtin_prefetch(pb + kRowsAhead * b_step + v * kAlong);
        if constexpr (kUnits) {
          b[v] = load<Unit>(pb + v * kAlong);
        } else if constexpr (kB == OfB::elements) {
          b[v] = Kind::units_across(pb + v * kAlong, behind + v * kAlong);
        } else {
          b[v] = Kind::some_units_across(pb, behind, args.columns);
        }
      }
#pragma GCC unroll 16
      for (int i = 0; i < kM; ++i) {
        Unit x;
        std::memcpy(&x, pa + i * args.a_row, sizeof(x));
        const Vec<Unit> a = broadcast(x);
#pragma GCC unroll 4
        for (int v = 0; v < kN; ++v) c[i][v] = Kind::step(a, b[v], c[i][v]);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kN; ++v) {
        std::byte* const to = args.c + i * args.c_row + v * int64_t{kBytes};
        store(adds ? Vec<Sum>(c[i][v] + load<Sum>(to)) : c[i][v], to);
      }
    }
    adds = true;
  } while (left > 0);
}

template <typename Kind>
class Multiply {
 public:
  using Unit = typename Kind::Unit;
  using Sum = typename Kind::Sum;
  static constexpr int kPer = kLanes<Sum>, kNr = kVectors * kPer;
  static constexpr bool kLists = Kind::kDepth == 1 && !Kind::kConverts;

  static void run(const MatmulBlock& block) noexcept {
    const Multiply multiply(block);
    for (int64_t j = 0; j < block.n; j += kNr) {
      multiply.panel(j, std::min<int64_t>(kNr, block.n - j));
    }
  }

 private:
  static constexpr int64_t kUnit = sizeof(Unit), kStored = sizeof(typename Kind::Stored);
  static constexpr int64_t kSum = sizeof(Sum);
  using Tile = void (*)(const TileOperands&);
  // By the number of rows, less one.
  using Tiles = std::array<Tile, kRows>;
  template <int kN, OfB kB>
  static constexpr Tiles kTiles = []<size_t... kIndex>(std::index_sequence<kIndex...>) {
    constexpr bool kUnits = kB == OfB::units || kB == OfB::listed;
    using Of = std::conditional_t<kUnits, typename Kind::Packed, Kind>;
    return Tiles{tile<Of, static_cast<int>(kIndex) + 1, kN, kB>...};
  }
  (std::make_index_sequence<kRows>());
  static constexpr OfB kInPlace = Kind::kConverts ? OfB::elements : OfB::units;

  explicit Multiply(const MatmulBlock& block) : block_(block) {}

  // Columns of one panel: all, or at the end of a row fewer, which go in single vectors if that
  // saves a half of the tile.
  void panel(int64_t j, int64_t count) const {
    if constexpr (kLists) {
      if (block_.b_rows != nullptr) return listed(j, count);
    }
    const bool packed = block_.packed_b != nullptr;
    const std::byte* b =
        packed ? block_.packed_b + j / kNr * b_panel() : block_.b.data + j * block_.b.column_stride;
    if (count == kNr)
      return rows(packed ? kTiles<kVectors, OfB::units> : kTiles<kVectors, kInPlace>, b, j, kNr,
                  count);
    if (packed && 2 * count > kNr) return rows(kTiles<kVectors, OfB::units>, b, j, kNr, count);
    for (int64_t end = j + count; j < end; j += kPer) {
      const int64_t some = std::min<int64_t>(kPer, end - j);
      const Tiles& tiles = packed         ? kTiles<1, OfB::units>
                           : some == kPer ? kTiles<1, kInPlace>
                                          : kTiles<1, OfB::part>;
      rows(tiles, b, j, kPer, some);
      b += kPer * (packed ? kUnit : kStored);
    }
  }

  // The narrowest tile that has them all.
  void listed(int64_t j, int64_t count) const {
    const std::byte* const b = block_.b.data + j * kUnit;
    constexpr int kHalf = kVectors / 2;
    if (count > kHalf * kPer) return rows(kTiles<kVectors, OfB::listed>, b, j, kNr, count);
    if (count > kPer) return rows(kTiles<kHalf, OfB::listed>, b, j, kHalf * kPer, count);
    rows(kTiles<1, OfB::listed>, b, j, kPer, count);
  }

  // `width`: the columns of a tile, of which C has `count`.
  void rows(const Tiles& tiles, const std::byte* b, int64_t j, int64_t width, int64_t count) const {
    TileOperands args;
    args.k = block_.k;
    args.b = b;
    args.b_rows = block_.b_rows;
    args.b_step = block_.packed_b != nullptr ? kNr * kUnit : block_.b.row_stride;
    args.columns = count;
    const bool packed = block_.packed_a != nullptr;
    args.a = packed ? block_.packed_a : block_.a.data;
    args.a_row = packed ? kUnit : block_.a.row_stride;
    args.a_step = packed ? kRows * kUnit : block_.a.column_stride;
    // Tiles of few rows wait for B: where rows may be shared out, all have nearly as many.
    const int64_t tile_count = std::max<int64_t>((block_.m + kRows - 1) / kRows, 1);
    const int64_t high = packed ? kRows : (block_.m + tile_count - 1) / tile_count;
    const int64_t a_panel = packed ? kRows * depth() * kUnit : high * block_.a.row_stride;
    args.c = block_.c + j * kSum;
    args.c_row = block_.c_row_stride;
    args.adds = block_.adds;
    for (int64_t i = 0; i < block_.m; i += high) {
      const int64_t m = std::min(high, block_.m - i);
      const Tile tile_of_rows = tiles[static_cast<size_t>(m) - 1];
      if (count == width) {
        tile_of_rows(args);
      } else {
        run_beside(tile_of_rows, args, m, count);
      }
      args.a += a_panel;
      args.c += high * args.c_row;
    }
  }
  // A tile that is wider than C, by way of one that is not.
  static void run_beside(Tile wide, TileOperands args, int64_t m, int64_t count) {
    Sum room[kRows * kNr];
    std::byte* const c = std::exchange(args.c, reinterpret_cast<std::byte*>(room));
    const int64_t c_row = std::exchange(args.c_row, kNr * kSum);
    const auto bytes = static_cast<size_t>(count * kSum);
    if (args.adds) {
      std::fill_n(room, kRows * kNr, Sum{});
      for (int64_t i = 0; i < m; ++i) std::memcpy(room + i * kNr, c + i * c_row, bytes);
    }
    wide(args);
    for (int64_t i = 0; i < m; ++i) std::memcpy(c + i * c_row, room + i * kNr, bytes);
  }

  int64_t b_panel() const {
    return block_.b_panel_stride != 0 ? block_.b_panel_stride : kNr * depth() * kUnit;
  }
  // Of a panel, in Units.
  int64_t depth() const { return (block_.k + Kind::kDepth - 1) / Kind::kDepth; }

  const MatmulBlock& block_;
};

}  // namespace dvm::cpu::HWY_NAMESPACE::matmul
HWY_AFTER_NAMESPACE();

#endif
