// Panels of A and B as tiles of AMX, one behind the other, filled up with zeros: of 32 lines (rows
// of A, columns of B), of which a tile has 16. For each row of a tile's worth of k (a unit) come
// the tiles of the first part, then those of the second.
#if defined(DVM_CPU_AMX_PACK) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_AMX_PACK
#undef DVM_CPU_AMX_PACK
#else
#define DVM_CPU_AMX_PACK
#endif

#include "cpu/matmul/amx_kinds-inl.h"
#include "cpu/matmul/pack-inl.h"

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE::amx_kinds {

inline constexpr int kPanelLines = 2 * cpu::amx::kTileRows;

// What a row of a tile is: a line of A along k, or a group of k of all lines of B.
enum class TileOf : uint8_t { lines, groups };

template <typename Kind, TileOf kTile>
class PackTiles {
 public:
  // `line`: bytes from line to line, `step`: from k to k.
  static void run(const std::byte* src, int64_t line, int64_t step, int64_t lines, int64_t k,
                  std::byte* packed) {
    const PackTiles pack{src, packed, line, step, lines, k};
    const bool along = step == kStored && (line != kStored || kTile == TileOf::lines);
    if (along) {
      pack.panel_by_panel([&](const Place& to) { pack.rows_of_lines(to); });
    } else if (line == kStored) {
      pack.unit_by_unit([&](const Place& to) { pack.rows_of_groups(to); });
    } else {
      pack.panel_by_panel([&](const Place& to) { pack.rows_of_copies(to); });
    }
  }

 private:
  static constexpr int64_t kStored = sizeof(typename Kind::Stored);
  static constexpr int kLines = cpu::amx::kTileRows, kGroups = cpu::amx::kTileRows;
  using Rows = Row[cpu::amx::kTileRows];

  // A tile, of lines and k from these on.
  struct Place {
    int64_t i, l;
  };

  PackTiles(const std::byte* src, std::byte* packed, int64_t line, int64_t step, int64_t lines,
            int64_t k)
      : src_(src), packed_(packed), line_(line), step_(step), lines_(lines), k_(k) {}

  // Lines that are adjacent along k are read a cache line of each at a time.
  template <typename F>
  void panel_by_panel(F f) const {
    for (int64_t i = 0; i < lines_; i += kPanelLines) {
      for (int64_t l = 0; l < k_; l += Kind::kDepth) f(Place{i, l}), f(Place{i + kLines, l});
    }
  }
  // Others from end to end.
  template <typename F>
  void unit_by_unit(F f) const {
    for (int64_t l = 0; l < k_; l += Kind::kDepth) {
      for (int64_t i = 0; i < lines_; i += kPanelLines) f(Place{i, l}), f(Place{i + kLines, l});
    }
  }

  const std::byte* at(int64_t i, int64_t l) const { return src_ + i * line_ + l * step_; }

  void rows_of_lines(const Place& to) const {
    const int64_t there = lines_ - to.i, count = std::min<int64_t>(k_ - to.l, Kind::kDepth);
    fill<TileOf::lines>(to, [&](int r, auto& parts) {
      if (r < there) Kind::along(at(to.i + r, to.l), count, parts);
    });
  }
  void rows_of_groups(const Place& to) const {
    const int64_t there = std::clamp<int64_t>(lines_ - to.i, 0, kLines);
    if (there == kLines && k_ - to.l >= Kind::kDepth) {
      return fill<TileOf::groups>(to, [&](int r, auto& parts) {
        const std::byte* const p = at(to.i, to.l + int64_t{r} * Kind::kGroup);
        // Of so many rows side by side nobody else asks for the next ones.
#pragma GCC unroll 4
        for (int64_t row = 0; row < Kind::kGroup; ++row) {
          __builtin_prefetch(p + (Kind::kDepth + row) * step_, 0, 2);
        }
        Kind::template across<true>(p, step_, Kind::kGroup, kLines, parts);
      });
    }
    fill<TileOf::groups>(to, [&](int r, auto& parts) {
      const int64_t l = to.l + int64_t{r} * Kind::kGroup;
      if (l < k_) Kind::template across<false>(at(to.i, l), step_, k_ - l, there, parts);
    });
  }
  void rows_of_copies(const Place& to) const {
    const int64_t there = lines_ - to.i, count = std::min<int64_t>(k_ - to.l, Kind::kDepth);
    fill<TileOf::lines>(to, [&](int r, auto& parts) {
      if (r >= there) return;
      alignas(64) std::byte line[Kind::kDepth * kStored];
      for (int64_t l = 0; l < count; ++l) {
        std::memcpy(line + l * kStored, at(to.i + r, to.l + l), kStored);
      }
      Kind::along(line, count, parts);
    });
  }

  // Writes a tile of which row(r, parts) computes rows, which are kRows.
  template <TileOf kRows, typename F>
  DVM_ALWAYS_INLINE void fill(const Place& to, F row) const {
    Rows tiles[Kind::kParts];
#pragma GCC unroll 16
    for (int r = 0; r < cpu::amx::kTileRows; ++r) {
      Row parts[Kind::kParts] = {};
      row(r, parts);
#pragma GCC unroll 2
      for (int part = 0; part < Kind::kParts; ++part) tiles[part][r] = parts[part];
    }
#pragma GCC unroll 2
    for (int part = 0; part < Kind::kParts; ++part) {
      if constexpr (kRows != kTile) {
        matmul::transpose(tiles[part], std::make_index_sequence<cpu::amx::kTileRows>());
      }
      std::byte* const tile = place(to, part);
#pragma GCC unroll 16
      for (int r = 0; r < cpu::amx::kTileRows; ++r) {
        matmul::store(tiles[part][r], tile + r * cpu::amx::kTileRowBytes);
      }
    }
  }
  std::byte* place(const Place& to, int part) const {
    const int64_t units = (k_ + Kind::kDepth - 1) / Kind::kDepth;
    const int64_t unit = to.i / kPanelLines * units + to.l / Kind::kDepth;
    const int64_t tile = (unit * Kind::kParts + part) * 2 + to.i % kPanelLines / kLines;
    return packed_ + tile * cpu::amx::kTileBytes;
  }

  const std::byte* const src_;
  std::byte* const packed_;
  const int64_t line_, step_, lines_, k_;
};

}  // namespace dvm::cpu::HWY_NAMESPACE::amx_kinds
HWY_AFTER_NAMESPACE();

#endif

#endif
