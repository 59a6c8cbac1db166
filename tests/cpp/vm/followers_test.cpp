// Products and the steps behind them as a leader and its followers: for any sizes and layouts each
// tile has exactly one follower, and together they compute what the reference does. What is out of
// order is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "core/error.h"
#include "vm/plain_core.h"
#include "vm/region_util.h"
#include "vm/target/cost.h"
#include "vm/target/launch_words.h"

namespace dvm::vm {
namespace {

constexpr const char* kRegion = R"(%0 = input f32[b, m, k]
%1 = input f32[b, k, n]
%2 = input f32[n]
%3 = input f32[b, m, n]
%4 = matmul(%0, %1) f32[b, m, n]
%5 = broadcast(%2) f32[b, m, n]
%6 = add(%4, %5) f32[b, m, n]
%7 = mul(%6, %3) f32[b, m, n]
return %7, %4)";

// Little memory for what is handed over, so that small products have several tiles.
class Followers : public ::testing::Test {
 protected:
  Followers() {
    CostTable table;
    table.far_bytes = 16384;
    set_cost_table(table);
  }
  ~Followers() override { set_cost_table(before); }

  Compiled encoded(Call& call) {
    arena.reset();
    return encode(kernel, call.binding(), target_named("cpu"), arena);
  }

  const CostTable before = cost_table();
  const core::Region region = region_of(kRegion);
  const Kernel kernel = prepare(region);
  Arena arena;
};

// Small whole numbers, whose sums are exact in whatever order.
core::Array whole_numbers(const Tensor& tensor, std::mt19937_64& random) {
  core::Array array = core::make_array(tensor.dtype, tensor.shape);
  for (float& x : core::elements<float>(array)) x = static_cast<float>(random() % 19) - 9;
  return array;
}

TEST_F(Followers, ComputeWhatTheReferenceDoes) {
  std::mt19937_64 random(3);
  const auto one_of = [&](std::initializer_list<int64_t> sizes) {
    return sizes.begin()[random() % sizes.size()];
  };
  int followed = 0, cut_short = 0, batched = 0;
  for (int test = 0; test < 60; ++test) {
    const bool large = test % 6 == 0;  // and no side a multiple of that of a tile
    const int64_t b = one_of({1, 1, 2, 3}), m = large ? 100 : one_of({1, 2, 12, 13, 48, 100}),
                  n = large ? 300 : one_of({1, 7, 64, 65, 130, 300}), k = one_of({1, 3, 17});
    SCOPED_TRACE(std::to_string(b) + ": " + std::to_string(m) + " x " + std::to_string(k) + " x " +
                 std::to_string(n));
    Call call(region, kernel, {b, m, k, n});
    std::vector<core::Array> inputs;
    for (size_t i = 0; i < call.operands.size(); ++i) {
      Tensor& tensor = call.operands[i];
      if (i >= 2) tensor.shuffle_layout(random);  // of the factors, few can be read in place
      if (i < 4) inputs.push_back(whole_numbers(tensor, random));
      if (i >= 4) continue;
      tensor.for_each(
          [&](int64_t e, std::byte* p) { std::memcpy(p, inputs[i].data.data() + e * 4, 4); });
    }
    const Compiled compiled = encoded(call);
    ASSERT_FALSE(compiled.followers.empty());
    ASSERT_EQ(compiled.stage_count, 1 + std::ssize(compiled.followers));
    std::vector<std::byte*> globals;
    for (Tensor& tensor : call.operands) globals.push_back(tensor.buffer.data() + tensor.base);
    globals.resize(globals.size() + static_cast<size_t>(compiled.workspace_count));
    compiled.all_launches(globals, [&](const Launch& launch) {
      verify(launch.program.words());
      for (const Follower& follower : launch.followers) verify(follower.program.words());
      verify_followers(launch.program, launch.followers, launch.handed);
      std::vector<std::byte> handed(static_cast<size_t>(launch.handed.bytes));
      PlainCore core(launch.program);
      const int64_t tiles = launch.program.header().tile_count;
      run_followed_tiles(launch, handed.data(), 0, tiles, core);
      followed += tiles > 1;
      cut_short += launch.followers.size() == 4;
      batched += b > 1;
      return true;
    });
    const std::vector<core::Array> expected = core::evaluate(region.body, inputs, {}, call.symbols);
    for (size_t r = 0; r < expected.size(); ++r) {
      call.operands[4 + r].for_each([&](int64_t e, const std::byte* p) {
        ASSERT_EQ(std::memcmp(p, expected[r].data.data() + e * 4, 4), 0) << r << ", " << e;
      });
    }
  }
  EXPECT_GT(followed, 15);
  EXPECT_GT(cut_short, 2);
  EXPECT_GT(batched, 15);
}

// As dvm.profile keeps them.
TEST_F(Followers, StayWithTheirLaunchInWords) {
  Call call(region, kernel, {2, 100, 8, 300});
  const Compiled compiled = encoded(call);
  const std::vector<std::byte*> globals(8);
  compiled.all_launches(globals, [](const Launch& launch) {
    std::vector<uint64_t> words = launch_words(launch);
    const LaunchView view = view_launch(words, true);
    EXPECT_TRUE(std::ranges::equal(view.program.words(), launch.program.words()));
    EXPECT_EQ(view.handed, launch.handed);
    EXPECT_EQ(launch_words(view.launch(launch.globals)), words);
    words.resize(launch.program.words().size() + 1);
    EXPECT_THROW(view_launch(words, true), core::Error);
    words.pop_back();
    EXPECT_TRUE(view_launch(words, true).followers.empty());
    return true;
  });
}

TEST_F(Followers, AreRefusedWhereTilesDoNotMatch) {
  Call call(region, kernel, {2, 100, 8, 300});
  const Compiled compiled = encoded(call);
  ASSERT_GT(compiled.stages[0].header().tile_count, 2U);
  const auto refusal = [&](const std::function<void(std::vector<Follower>&, HandedOver&)>& spoil) {
    std::vector<Follower> followers(compiled.followers.begin(), compiled.followers.end());
    HandedOver handed = compiled.handed;
    spoil(followers, handed);
    try {
      verify_followers(compiled.stages[0], followers, handed);
    } catch (const core::Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  using List = std::vector<Follower>;
  const auto names = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_EQ(refusal([](List&, HandedOver&) {}), "");
  EXPECT_TRUE(names(refusal([](List& all, HandedOver&) { all.pop_back(); }), "has no follower"));
  EXPECT_TRUE(names(refusal([](List& all, HandedOver&) { all.push_back(all[0]); }), "or several"));
  EXPECT_TRUE(names(refusal([](List& all, HandedOver&) { ++all[0].tiles; }), "behind none"));
  EXPECT_TRUE(names(refusal([](List&, HandedOver& handed) { --handed.bytes; }), "hands over"));
  EXPECT_TRUE(names(refusal([](List&, HandedOver& handed) { handed.global = 0; }), "hands over"));
}

}  // namespace
}  // namespace dvm::vm
