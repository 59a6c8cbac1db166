// The tiler against a search over all tile sizes, and what every tiling must satisfy.
#include "vm/tile/tiler.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <random>

#include "core/ops/sum_order.h"
#include "region_util.h"

namespace dvm::vm {
namespace {

int64_t log_uniform(std::mt19937_64& random, int64_t high) {
  const auto bits = static_cast<int>(
      random() % static_cast<uint64_t>(std::bit_width(static_cast<uint64_t>(high))));
  return std::min(high, (int64_t{1} << bits) + static_cast<int64_t>(random() % (1ull << bits)));
}

TEST(Tiler, LeastCostIsThatOfAllTileSizes) {
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    std::mt19937_64 random(seed);
    constexpr int64_t kCores[] = {1, 2, 3, 40, 48}, kOverheads[] = {1, 2, 64};
    const TileCost cost{log_uniform(random, 20000), log_uniform(random, 200),
                        log_uniform(random, 2000), kCores[random() % 5], kOverheads[random() % 3]};
    const int64_t t_max = log_uniform(random, 33000);
    int64_t best = INT64_MAX;
    for (int64_t t = 1; t <= std::min(t_max, cost.length); ++t) {
      const int64_t tiles = cost.outer * ((cost.length + t - 1) / t);
      const int64_t rounds = (tiles + cost.cores - 1) / cost.cores;
      best = std::min(best, rounds * (t * cost.inner + cost.overhead));
    }
    const TileChoice choice = least_cost_tile(cost, t_max);
    ASSERT_EQ(choice.cost, best) << "seed " << seed;
    ASSERT_EQ(cost(choice.tile), best) << "seed " << seed;
    ASSERT_TRUE(1 <= choice.tile && choice.tile <= std::min(t_max, cost.length));
  }
}

TEST(Tiler, AlignmentRoundsUpWithinTheLimits) {
  EXPECT_EQ(align_tile(820, 32768, 32666, 1, 16), 832) << "paper section 4.2";
  EXPECT_EQ(align_tile(820, 825, 825, 1, 16), 825) << "the whole dim needs no alignment";
  EXPECT_EQ(align_tile(820, 32768, 831, 1, 16), 816) << "no room upwards";
  EXPECT_EQ(align_tile(10, 32768, 15, 1, 16), 10) << "no room at all";
  EXPECT_EQ(align_tile(3, 100, 50, 6, 16), 8) << "8 * 6 is a multiple of 16";
  EXPECT_EQ(align_tile(3, 100, 50, 32, 16), 3);
}

struct Tiled {
  core::Region region;
  Kernel kernel;
  Stage stage;
  std::unique_ptr<Schedules> schedules = std::make_unique<Schedules>();
  Tiled(std::string_view text, std::vector<int64_t> symbols) : region(region_of(text)) {
    kernel = prepare(region);
    Call call(region, kernel, std::move(symbols));
    bind(kernel, call.binding(), all_outputs(kernel), stage);
  }
  int64_t limit(std::string_view name) const {
    schedules->begin(stage, target_named(name));
    return tile_limit(*schedules);
  }
  Tiling on(std::string_view name) {
    const int64_t most = limit(name);
    return tile(*schedules, most);
  }
};

TEST(Tiler, CountsLiveBytesNotOperations) {
  // Three f16 slots at the peak, then three of f32: 196096 bytes less three units of alignment.
  Tiled half("%0 = input f16[s0]\n%1 = input f16[s0]\n%2 = add(%0, %1) f16[s0]\nreturn %2", {99});
  EXPECT_EQ(half.limit("ascend910b3"), (196096 - 96) / 6);
  Tiled chain(R"(%0 = input f32[s0]
    %1 = exp(%0) f32[s0]
    %2 = exp(%1) f32[s0]
    %3 = exp(%2) f32[s0]
    return %3)",
              {99});
  EXPECT_EQ(chain.limit("ascend910b3"), (196096 - 64) / 8);
  EXPECT_GT(chain.limit("cpu"), 65536) << "nothing is in local memory";
}

TEST(Tiler, WorkedExample) {
  Tiled add(R"(%0 = input f16[s0, s1]
    %1 = input f16[s0, s1]
    %2 = add(%0, %1) f16[s0, s1]
    return %2)",
            {32, 1024});
  ASSERT_EQ(add.stage.rank, 1);
  EXPECT_EQ(least_cost_tile({32768, 1, 1, 40, 2}, 32666).tile, 820);
  const Tiling tiling = add.on("ascend910b3");
  EXPECT_EQ(tiling.tile[0], 832);
  EXPECT_EQ(tiling.tile_count, 40);
}

constexpr std::string_view kRowSum =
    "%0 = input f32[s0, s1]\n%1 = sum(%0) f32[s0, 1] {axes = [1]}\nreturn %1";
constexpr std::string_view kColumnSum =
    "%0 = input f32[s0, s1]\n%1 = sum(%0) f32[1, s1] {axes = [0]}\nreturn %1";

TEST(Tiler, KeepsRowsWholeAndCutsLongOnesIntoChunks) {
  Tiled rows(kRowSum, {1000, 300});
  const Tiling whole = rows.on("cpu");
  EXPECT_EQ(whole.reduction, Tiling::Reduction::in_tile);
  EXPECT_EQ(whole.split, 0);
  EXPECT_EQ(whole.tile[1], 300);
  EXPECT_GT(whole.tile[0], 1);

  Tiled row(kRowSum, {3, 100001});
  const Tiling cut = row.on("cpu");
  EXPECT_EQ(cut.reduction, Tiling::Reduction::chunks);
  EXPECT_EQ(cut.split, 1);
  EXPECT_EQ(cut.tile[0], 1);
  EXPECT_EQ(cut.tile[1], core::kSumChunk);
  EXPECT_EQ(cut.tile_count, 3 * 196);
}

// Cut in two, the second part would be read although the first has decided.
TEST(Tiler, AsksWholeLinesWhetherTheyAreTrue) {
  constexpr std::string_view kAny =
      "%0 = input bool[s0, s1]\n%1 = max(%0) bool[s0, 1] {axes = [1]}\nreturn %1";
  for (const int64_t size : {int64_t{100'001}, int64_t{500'000'000}}) {
    Tiled line(kAny, {1, size});
    const Tiling one = line.on("cpu");
    EXPECT_EQ(one.reduction, Tiling::Reduction::in_tile);
    EXPECT_EQ(one.tile_count, 1);
    Tiled lines(kAny, {3, size});
    const Tiling some = lines.on("cpu");
    EXPECT_EQ(some.reduction, Tiling::Reduction::in_tile);
    EXPECT_EQ(some.tile_count, 3);
    line.stage.accesses[0].strides[0] = 2;
    EXPECT_EQ(line.on("cpu").reduction, Tiling::Reduction::chunks);
  }
}

TEST(Tiler, CutsColumnsSoThatTheirRunsStayLong) {
  Tiled columns(kColumnSum, {5001, 1000});
  const Tiling cut = columns.on("cpu");
  EXPECT_EQ(cut.reduction, Tiling::Reduction::chunks);
  EXPECT_EQ(cut.tile[0], core::kSumChunk);
  EXPECT_EQ(1000 % cut.tile[1], 0) << "the last chunk is short, so the columns must divide";
  EXPECT_GT(cut.tile[1], 4);
}

// A chain of one step takes as long to begin as another one: a tile for each row is all setup.
TEST(Tiler, RowsWithAValueEachAreTilesOfMany) {
  for (const int64_t columns : {2, 24, 25, 33, 40, 56, 64, 96, 100, 127, 300}) {
    Tiled tiled(
        "%0 = input f32[r, c]\n%1 = input f32[r, 1]\n%2 = broadcast(%1) f32[r, c]\n"
        "%3 = add(%0, %2) f32[r, c]\nreturn %3",
        {200000 / columns, columns});
    const Tiling tiling = tiled.on("cpu");
    EXPECT_GT(tiling.tile[0], 1) << columns;
  }
}

TEST(Tiler, ReducedDimsThatDoNotMergeAreStoredFirst) {
  Tiled sum(R"(%0 = input f32[s0, s1]
    %1 = sum(%0) f32[1, 1] {axes = [0, 1]}
    return %1)",
            {1000, 100});
  EXPECT_EQ(sum.on("cpu").reduction, Tiling::Reduction::chunks);
  sum.stage.rank = 2;  // as for an operand with gaps between rows
  sum.stage.sizes[0] = 1000;
  sum.stage.sizes[1] = 100;
  sum.stage.reduce_end = 2;
  EXPECT_EQ(sum.on("cpu").reduction, Tiling::Reduction::stored);
}

// Whatever the sizes: tiles respect the limit, only the split dim is ragged, reduced dims are whole
// or cut into chunks.
TEST(Tiler, EveryTilingIsSound) {
  const auto schedules = std::make_unique<Schedules>();
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    std::mt19937_64 random(seed);
    Stage stage;
    stage.rank = static_cast<int>(1 + random() % 4);
    int64_t room = log_uniform(random, int64_t{1} << 30);
    for (int d = 0; d < stage.rank; ++d) {
      stage.sizes[d] = std::max<int64_t>(2, log_uniform(random, room));
      room = std::max<int64_t>(2, room / stage.sizes[d]);
    }
    if (random() % 2 == 0) {
      stage.reduce_begin = static_cast<int>(random() % static_cast<uint64_t>(stage.rank));
      stage.reduce_end = stage.reduce_begin + 1;
    }
    stage.access_count = 1;
    const TargetTraits& target = target_named(random() % 2 == 0 ? "cpu" : "ascend910b3");
    const int64_t limit = log_uniform(random, 33000);
    schedules->begin(stage, target);
    const Tiling t = tile(*schedules, limit);
    SCOPED_TRACE("seed " + std::to_string(seed));
    if (t.reduction == Tiling::Reduction::stored) {
      EXPECT_TRUE(stage.reduces() && stage.sizes[stage.reduce_begin] > limit);
      EXPECT_LT(limit, core::kSumChunk);
      continue;
    }
    int64_t elements = 1, tiles = 1;
    for (int d = 0; d < stage.rank; ++d) {
      ASSERT_TRUE(1 <= t.tile[d] && t.tile[d] <= std::max(stage.sizes[d], core::kSumChunk));
      ASSERT_TRUE(t.ends_runs(d) || stage.sizes[d] % t.tile[d] == 0);
      const bool reduced = stage.reduce_begin <= d && d < stage.reduce_end;
      if (reduced) {
        const bool chunks = t.reduction == Tiling::Reduction::chunks;
        ASSERT_EQ(t.tile[d], chunks ? core::kSumChunk : stage.sizes[d]);
      }
      elements *= t.tile[d];
      tiles *= t.tiles(d);
    }
    ASSERT_LE(elements, limit);
    ASSERT_EQ(elements, t.tile_elements);
    ASSERT_EQ(tiles, t.tile_count);
  }
}

}  // namespace
}  // namespace dvm::vm
