// Which tiles a product is cut into for the cube, and in which order they follow each other.
#include <algorithm>
#include <vector>

#include "core/math/integers.h"
#include "vm/encode/cube_program.h"

namespace dvm::vm {

namespace {

namespace rate {
#define DVM_CUBE_RATE(name, value, synopsis) constexpr double name = value;
#include "vm/encode/cube_rates.def"
}  // namespace rate

constexpr int64_t kFractal = 16;       // rows of one, and columns of sums
constexpr int64_t kFractalBytes = 32;  // of a row
constexpr int64_t kTurns = 2;          // slots of each factor beside the cube

using core::ceil_div;
using core::round_up;

// Elements of k that a fractal has.
int64_t depth_of(DType source) { return kFractalBytes / core::byte_size(source); }

// Of 16 by depth by 16 products: one of halves or bytes; floats have half as many and take twice as
// long (PTO). Wider elements, which no hardware multiplies, as long again.
double cycles_of_fractal(DType source) {
  return source == DType::f32 ? 2 : depth_of(source) >= 16 ? 1 : 4;
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

double cube_cycles(const Contraction& product, const CubeTiling& tiling,
                   const TargetTraits& target) {
  const TileCounts tiles = tiles_of(product, tiling);
  const TileShares shares =
      share_tiles(product.batches() * tiles.m * tiles.n, target.blocks(KernelType::cube));
  const auto element = static_cast<double>(core::byte_size(product.source));
  const auto m = static_cast<double>(round_up(tiling.m, kFractal)),
             n = static_cast<double>(round_up(tiling.n, kFractal)),
             k = static_cast<double>(product.k.size);
  const double steps = static_cast<double>(ceil_div(product.k.size, tiling.k));
  const double fractals = m / kFractal * (n / kFractal) *
                          static_cast<double>(ceil_div(product.k.size, depth_of(product.source)));
  const double multiply = fractals * cycles_of_fractal(product.source) + steps * rate::head;
  const double feed = k * element * (m / rate::feed_a_bytes + n / rate::feed_b_bytes);
  // What several cores read at a time comes from memory once.
  const TileCounts shared = distinct_at(0, tiles, tiling.order, shares);
  const double cores = shares.block_dim;
  const double from_memory =
      k * element * (m * static_cast<double>(shared.m) + n * static_cast<double>(shared.n)) / cores;
  const double load =
      std::max(k * element * (m + n) / rate::load_bytes, from_memory / rate::hbm_bytes);
  const double drain =
      m * n * static_cast<double>(core::byte_size(product.dtype)) / rate::drain_bytes;
  // Stages overlap from step to step; the first step of a tile has nothing to overlap with.
  const double slowest = std::max({multiply, feed, load});
  return shares.body_tile * (slowest + (multiply + feed + load - slowest) / steps + drain);
}

CubeTiling tile_cube(const Contraction& product, const TargetTraits& target) {
  const int64_t sums = target.memory(Space::l0c).bytes / core::byte_size(product.dtype);
  CubeTiling best{};
  double least = 0;
  const auto consider = [&](const CubeTiling& tiling) {
    const double cycles = cube_cycles(product, tiling, target);
    if (best.m != 0 && cycles >= least) return;
    best = tiling;
    least = cycles;
  };
  for (int64_t m = kFractal; m <= 256; m *= 2) {
    for (int64_t n = kFractal; n <= 256 && m * n <= sums; n *= 2) {
      const int64_t k = deepest(m, n, product, target);
      consider({std::min(m, product.m.size),
                std::min(n, product.n.size),
                std::min(k, product.k.size),
                {}});
      if (n >= product.n.size) break;
    }
    if (m >= product.m.size) break;
  }
  for (const TileOrder& order : orders(product, best)) {
    consider({best.m, best.n, best.k, order});
  }
  return best;
}

}  // namespace dvm::vm
