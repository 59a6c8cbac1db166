// Which tiles a product is cut into for the cube, and in which order they follow each other.
#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/math/integers.h"
#include "vm/encode/cube_program.h"
#include "vm/target/core_timing.h"
#include "vm/target/launch.h"

namespace dvm::vm {

namespace {

constexpr int64_t kFractal = 16;       // rows of one, and columns of sums
constexpr int64_t kFractalBytes = 32;  // of a row
constexpr int64_t kTurns = 2;          // slots of each factor beside the cube

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
    return target.memory(space).bytes / kTurns / (element * side);
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
  const int64_t rows = round_up(std::min(m, product.m.size), kFractal),
                columns = round_up(std::min(n, product.n.size), kFractal);
  const int64_t depth = depth_of(product.source) * core::byte_size(product.source);
  const auto room = [&](Space space) { return target.memory(space).bytes; };
  if (rows * columns * core::byte_size(product.dtype) > room(Space::l0c) ||
      kTurns * rows * depth > room(Space::l0a) || kTurns * columns * depth > room(Space::l0b)) {
    core::fail(core::ErrorCode::unsupported,
               "tiles of " + std::to_string(m) + " by " + std::to_string(n) +
                   " sums exceed the memories beside the cube of " + std::string(target.name));
  }
  const auto side = [](int64_t size) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(size, kFractal))));
  };
  CubeTiling plain = plain_tiling(product, target, side(m), side(n));
  plain.m = std::min(m, product.m.size);
  plain.n = std::min(n, product.n.size);
  return best_order(product, target, plain).tiling;
}

CubeTiling tile_cube(const Contraction& product, const TargetTraits& target,
                     const WorkBehind& behind) {
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
