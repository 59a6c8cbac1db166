// Which tiles a product is cut into for the cube, and in which order they follow each other.
#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/math/integers.h"
#include "vm/encode/cube_program.h"
#include "vm/encode/tile_pool.h"
#include "vm/target/core_timing.h"
#include "vm/target/launch.h"

namespace dvm::vm {

namespace {

constexpr int64_t kFractal = 16;       // rows of one, and columns of sums
constexpr int64_t kFractalBytes = 32;  // of a row

using core::ceil_div;
using core::round_up;

// Elements of k that a fractal has.
int64_t depth_of(DType source) { return kFractalBytes / core::byte_size(source); }

// Of 16 by depth by 16 products: those of floats have half as many elements. Wider elements, which
// no hardware multiplies, take twice as long again.
double cycles_of_fractal(DType source, const CoreTiming& timing) {
  if (source == DType::f32) return timing.cube_cycles * timing.cube_wide;
  return timing.cube_cycles * (depth_of(source) >= 16 ? 1 : 2 * timing.cube_wide);
}

struct TileCounts {
  int64_t m, n;
};
TileCounts tiles_of(const Contraction& product, const CubeTiling& tiling) {
  return {ceil_div(product.m.size, tiling.m), ceil_div(product.n.size, tiling.n)};
}

// As many elements of k as fit the slots of both factors, in whole fractals.
int64_t deepest(int64_t m, int64_t n, const Contraction& product, const TargetTraits& target) {
  const int64_t element = core::byte_size(product.source), depth = depth_of(product.source);
  const auto fits = [&](Space space, int64_t side) {
    return target.memory(space).bytes / kTurnsInL0 / (element * side);
  };
  const int64_t most = std::min(fits(Space::l0a, m), fits(Space::l0b, n)) / depth * depth;
  // Longer steps than loads want for their rate leave no others to overlap with.
  constexpr int64_t kLoadBytes = 16384;
  const int64_t wanted = round_up(ceil_div(kLoadBytes, element * std::min(m, n)), depth);
  return std::min(
      {std::max(depth, most), std::max(wanted, 4 * depth), round_up(product.k.size, depth)});
}

// Cycles of a transfer of `rows` by `columns` elements that lie so many bytes apart, between them
// and global memory, as simulated cores are timed (sim/timing/cost.cpp) where it starts anywhere
// within a line.
struct Box {
  int64_t rows, row_stride, columns, column_stride, element;
};
double transfer_cycles(const Box& box, double rate, const CoreTiming& timing) {
  constexpr int64_t kBlock = 32;
  int64_t runs = 1, bytes = box.element;
  const auto take = [&](int64_t count, int64_t stride) {
    (stride == bytes ? bytes : runs) *= count;
  };
  const bool by_rows = box.column_stride == box.element;
  take(by_rows ? box.columns : box.rows, by_rows ? box.column_stride : box.row_stride);
  take(by_rows ? box.rows : box.columns, by_rows ? box.row_stride : box.column_stride);
  const double moved = static_cast<double>(runs * core::round_up(bytes, kBlock));
  const double lines = static_cast<double>(bytes - 1) / timing.line_bytes + 1;
  const double used = moved / (static_cast<double>(runs) * lines * timing.line_bytes);
  const double starts = runs > 1 ? static_cast<double>(runs) * timing.run_cycles : 0;
  return std::max(moved / std::clamp(used, timing.unaligned_share, 1.0) / rate, starts) +
         timing.ramp_bytes / rate;
}

// How many tiles of rows, and of columns, the tiles have among them that cores run at a time.
TileCounts distinct_at(int64_t step, const TileCounts& tiles, const TileOrder& order,
                       const TileShares& shares) {
  std::vector<int64_t> rows, columns;
  const int64_t along = order.by_columns ? tiles.m : tiles.n;
  for (int64_t core = 0; core < shares.block_dim; ++core) {
    const int64_t tile = core * shares.body_tile + step;
    const int64_t in_batch = tile % (tiles.m * tiles.n), batch = tile / (tiles.m * tiles.n);
    const int64_t band = in_batch / (along * order.width), rest = in_batch % (along * order.width);
    const int64_t across = band * order.width + rest % order.width, position = rest / order.width;
    rows.push_back(batch * tiles.m + (order.by_columns ? position : across));
    columns.push_back(batch * tiles.n + (order.by_columns ? across : position));
  }
  const auto distinct = [](std::vector<int64_t>& of) {
    std::sort(of.begin(), of.end());
    return std::unique(of.begin(), of.end()) - of.begin();
  };
  return {distinct(rows), distinct(columns)};
}

// About as many bytes as a launch has: of its leader, of each step of k that is written out, and of
// what is behind each kind of tile, whole or cut short by either side.
int64_t bytecode(const Contraction& product, const CubeTiling& tiling, const WorkBehind& behind) {
  constexpr int64_t kLeaderBytes = 280, kStepBytes = 400, kInLoop = 4;
  const int64_t whole = product.k.size / tiling.k, rest = product.k.size % tiling.k == 0 ? 0 : 1;
  const int64_t steps = whole < 2 * kInLoop ? whole : kInLoop + whole % kInLoop;
  const auto kinds = [](int64_t size, int64_t tile) -> int64_t {
    return size > tile && size % tile != 0 ? 2 : 1;
  };
  return kLeaderBytes + (steps + rest) * kStepBytes +
         kinds(product.m.size, tiling.m) * kinds(product.n.size, tiling.n) * behind.bytecode;
}

// Bands are of an axis whose tiles are all alike, so that a tail ends one axis of the grid.
std::vector<TileOrder> orders(const Contraction& product, const CubeTiling& tiling) {
  const TileCounts tiles = tiles_of(product, tiling);
  std::vector<TileOrder> all;
  const bool has_room = product.batch_rank + 3 <= kMaxRank;
  const auto add = [&](bool by_columns, int64_t count, bool alike) {
    all.push_back({by_columns, 1});
    for (int64_t width = 2; has_room && alike && width <= std::min<int64_t>(count, 16); ++width) {
      if (count % width == 0) all.push_back({by_columns, width});
    }
  };
  add(false, tiles.m, product.m.size % tiling.m == 0);
  add(true, tiles.n, product.n.size % tiling.n == 0);
  return all;
}

}  // namespace

bool has_cube(const TargetTraits& target) { return target.memory(Space::l1).bytes != 0; }

std::string why_no_tile(DType source, const CubeTiling& tiling, const TargetTraits& target) {
  if (!has_cube(target)) return std::string(target.name) + " has no cube";
  const auto& [m, n, k, order] = tiling;
  const std::string tile = "tiles of " + std::to_string(m) + " by " + std::to_string(n) +
                           " sums in steps of " + std::to_string(k);
  if (m < 1 || n < 1 || k < 1) return tile + " are none";
  const int64_t element = core::byte_size(source), sum = std::max<int64_t>(4, element);
  const int64_t rows = round_up(m, kFractal), columns = round_up(n, kFractal),
                depth = round_up(k, depth_of(source));
  const struct {
    Space space;
    std::string_view name;
    int64_t bytes;
  } used[] = {{Space::l0c, "L0C", rows * columns * sum},
              {Space::l0a, "L0A", kTurnsInL0 * rows * depth * element},
              {Space::l0b, "L0B", kTurnsInL0 * depth * columns * element},
              {Space::l1, "L1", kTurnsInL1 * (rows + columns) * depth * element}};
  for (const auto& [space, name, bytes] : used) {
    const int64_t room = target.memory(space).bytes;
    if (bytes <= room) continue;
    return tile + " need " + std::to_string(bytes) + " bytes of " + std::string(name) + ", and " +
           std::string(target.name) + " has " + std::to_string(room);
  }
  return {};
}

double cube_cycles(const Contraction& product, const CubeTiling& tiling, const TargetTraits& target,
                   const WorkBehind& behind) {
  const TileCounts tiles = tiles_of(product, tiling);
  const TileShares shares =
      share_tiles(product.batches() * tiles.m * tiles.n, target.blocks(KernelType::cube));
  const int64_t size = core::byte_size(product.source);
  const auto element = static_cast<double>(size);
  const auto m = static_cast<double>(round_up(tiling.m, kFractal)),
             n = static_cast<double>(round_up(tiling.n, kFractal)),
             k = static_cast<double>(product.k.size);
  const CoreTiming& timing = core_timing(target);
  const double steps = static_cast<double>(ceil_div(product.k.size, tiling.k));
  const double fractals = m / kFractal * (n / kFractal) *
                          static_cast<double>(ceil_div(product.k.size, depth_of(product.source)));
  const double multiply =
      fractals * cycles_of_fractal(product.source, timing) + steps * timing.cube_head;
  const double feed = k * element * (m / timing.feed_a_bytes + n / timing.feed_b_bytes);
  // What several cores read at a time comes from memory once; all of it goes through the second
  // cache.
  const TileCounts shared = distinct_at(0, tiles, tiling.order, shares);
  const double cores = shares.block_dim;
  const double from_memory =
      k * element * (m * static_cast<double>(shared.m) + n * static_cast<double>(shared.n)) / cores;
  const double bytes = k * element * (m + n);
  const Box a{tiling.m, product.m.a, tiling.k, product.k.a, size},
      b{tiling.k, product.k.b, tiling.n, product.n.b, size},
      sums{tiling.m, product.m.result, tiling.n, product.n.result, core::byte_size(product.dtype)};
  const double load =
      std::max({static_cast<double>(product.k.size) / static_cast<double>(tiling.k) *
                    (transfer_cycles(a, timing.load_l1_bytes, timing) +
                     transfer_cycles(b, timing.load_l1_bytes, timing)),
                cores * bytes / timing.l2_bytes, cores * from_memory / timing.hbm_bytes});
  const double drain = transfer_cycles(sums, timing.drain_bytes, timing);
  // Stages overlap from step to step; the first step of a tile has nothing to overlap with.
  const double slowest = std::max({multiply, feed, load});
  const double begin = timing.miss_cycles + (multiply + feed + load - slowest) / steps;
  const double tile = slowest + begin + drain + timing.write_cycles;
  const double copy = static_cast<double>(bytecode(product, tiling, behind)) > timing.argument_bytes
                          ? timing.copy_cycles
                          : 0;
  // Vector cores work on a tile while the cube does on the next one.
  const double follows = behind.per_tile + static_cast<double>(tiling.m * tiling.n) / kVectorCores *
                                               behind.per_element;
  return copy + cores * timing.core_cycles + tile +
         (shares.body_tile - 1) * std::max(tile, follows) + follows;
}

namespace {

// Tiles of m by n sums, both as powers of 2, in the steps of k that suit them.
CubeTiling plain_tiling(const Contraction& product, const TargetTraits& target, int64_t m,
                        int64_t n) {
  const int64_t k = deepest(m, n, product, target);
  return {
      std::min(m, product.m.size), std::min(n, product.n.size), std::min(k, product.k.size), {}};
}

struct Priced {
  CubeTiling tiling;
  double cycles;
};
Priced best_order(const Contraction& product, const TargetTraits& target, const CubeTiling& plain) {
  Priced best{plain, cube_cycles(product, plain, target)};
  for (const TileOrder& order : orders(product, plain)) {
    const CubeTiling tiling{plain.m, plain.n, plain.k, order};
    const double cycles = cube_cycles(product, tiling, target);
    if (cycles < best.cycles) best = {tiling, cycles};
  }
  return best;
}

}  // namespace

CubeTiling tile_cube(const Contraction& product, const TargetTraits& target, int64_t m, int64_t n) {
  const CubeTiling asked{std::min(m, product.m.size), std::min(n, product.n.size), 1, {}};
  if (const std::string why = why_no_tile(product.source, asked, target); !why.empty()) {
    core::fail(core::ErrorCode::unsupported, why);
  }
  const auto side = [](int64_t size) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(size, kFractal))));
  };
  CubeTiling plain = plain_tiling(product, target, side(m), side(n));
  plain.m = std::min(m, product.m.size);
  plain.n = std::min(n, product.n.size);
  return best_order(product, target, plain).tiling;
}

namespace {

// Of the factors as they were measured; none where they lie otherwise.
std::optional<RightLies> lies_as_measured(const Contraction& product) {
  const int64_t size = core::byte_size(product.source);
  if (product.k.a != size || product.windows || product.packed_column != 0) return {};
  if (product.n.result != core::byte_size(product.dtype)) return {};
  if (product.n.b == size) return RightLies::by_rows;
  if (product.k.b == size) return RightLies::by_columns;
  return {};
}

// The tile of the pool that takes the least by the model of waves; none where none was measured.
std::optional<CubeTiling> pooled_tiling(const Contraction& product, const TargetTraits& target,
                                        const WorkBehind& behind) {
  const std::optional<RightLies> right = lies_as_measured(product);
  if (!right) return {};
  // All halves take the same time.
  const DType source = core::is_half(product.source) ? DType::f16 : product.source;
  const MeasuredTile* best = nullptr;
  double least = 0;
  const std::shared_ptr<const TilePool> pool = tile_pool(target);
  for (const MeasuredTile& tile : *pool) {
    if (tile.source != source || tile.right != *right) continue;
    const int64_t tiles =
        product.batches() * ceil_div(product.m.size, tile.m) * ceil_div(product.n.size, tile.n);
    const int64_t waves = ceil_div(tiles, int64_t{target.blocks(KernelType::cube)});
    const double follows =
        behind.per_tile + static_cast<double>(tile.m * tile.n) / kVectorCores * behind.per_element;
    const double cycles =
        tile.first.at(product.k.size) + follows +
        static_cast<double>(waves - 1) * std::max(tile.next.at(product.k.size), follows);
    if (best != nullptr && cycles >= least) continue;
    best = &tile;
    least = cycles;
  }
  if (best == nullptr) return {};
  return CubeTiling{std::min(best->m, product.m.size),
                    std::min(best->n, product.n.size),
                    std::min(best->k, product.k.size),
                    {}};
}

}  // namespace

CubeTiling tile_cube(const Contraction& product, const TargetTraits& target,
                     const WorkBehind& behind) {
  if (const auto pooled = pooled_tiling(product, target, behind)) {
    return best_order(product, target, *pooled).tiling;
  }
  const int64_t sums = target.memory(Space::l0c).bytes / core::byte_size(product.dtype);
  CubeTiling best{};
  double least = 0;
  const auto consider = [&](const CubeTiling& tiling) {
    const double cycles = cube_cycles(product, tiling, target, behind);
    if (best.m != 0 && cycles >= least) return;
    best = tiling;
    least = cycles;
  };
  for (int64_t m = kFractal; m <= 256; m *= 2) {
    for (int64_t n = kFractal; n <= 256 && m * n <= sums; n *= 2) {
      consider(plain_tiling(product, target, m, n));
      if (n >= product.n.size) break;
    }
    if (m >= product.m.size) break;
  }
  return best_order(product, target, best).tiling;
}

}  // namespace dvm::vm
