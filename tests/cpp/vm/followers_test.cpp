// Products and the steps behind them as a leader and its followers: for any sizes and layouts each
// tile has exactly one follower, and together they compute what the reference does. What is out of
// order is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "vm/followed_case.h"
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

class Followers : public ::testing::Test {
 protected:
  Compiled encoded(Call& call) {
    arena.reset();
    return encode(kernel, call.binding(), target_named("cpu"), arena);
  }

  const LittleMemory little;
  const core::Region region = region_of(kRegion);
  const Kernel kernel = prepare(region);
  Arena arena;
};

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
    // Of the factors, few can be read in place.
    for (size_t i = 2; i < call.operands.size(); ++i) call.operands[i].shuffle_layout(random);
    const std::vector<core::Array> inputs = fill_inputs(call, 4, random);
    const Compiled compiled = encoded(call);
    ASSERT_FALSE(compiled.followers.empty());
    ASSERT_EQ(compiled.stage_count, 1 + std::ssize(compiled.followers));
    run_launches(compiled, call, [&](const Launch& launch) {
      followed += launch.program.header().tile_count > 1;
      cut_short += launch.followers.size() == 4;
      batched += b > 1;
    });
    expect_reference(region, call, 4, inputs);
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
    // By itself its tiles write into one place, which nobody takes from there.
    EXPECT_THROW(view_launch(words, true), core::Error);
    EXPECT_TRUE(view_launch(words, false).followers.empty());
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
      verify_followers(
          {.program = compiled.stages[0], .globals = {}, .followers = followers, .handed = handed});
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
