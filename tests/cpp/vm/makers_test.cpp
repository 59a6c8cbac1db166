// Steps before a product as makers of its left factor: for any sizes and layouts they compute what
// the reference does, in each tile where that pays and to memory elsewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "core/error.h"
#include "vm/followed_case.h"
#include "vm/target/launch_words.h"

namespace dvm::vm {
namespace {

// Steps that are cut along rows, columns and batches, and before or behind the product alone.
constexpr const char* kAlone = R"(%0 = input f32[b, m, k]
%1 = input f32[b, k, n]
%2 = input f32[k]
%3 = input f32[m, 1]
%4 = broadcast(%2) f32[b, m, k]
%5 = broadcast(%3) f32[b, m, k]
%6 = add(%0, %4) f32[b, m, k]
%7 = mul(%6, %5) f32[b, m, k]
%8 = matmul(%7, %1) f32[b, m, n]
return %8)";
constexpr const char* kFollowed = R"(%0 = input f32[b, m, k]
%1 = input f32[b, k, n]
%2 = input f32[n]
%3 = input f32[m, 1]
%4 = broadcast(%3) f32[b, m, k]
%5 = neg(%0) f32[b, m, k]
%6 = mul(%5, %4) f32[b, m, k]
%7 = broadcast(%2) f32[b, m, n]
%8 = matmul(%6, %1) f32[b, m, n]
%9 = add(%8, %7) f32[b, m, n]
return %9)";

class Makers : public ::testing::TestWithParam<const char*> {
 protected:
  Compiled encoded(Call& call, const char* target = "cpu") {
    arena.reset();
    return encode(kernel, call.binding(), target_named(target), arena);
  }

  const LittleMemory little;
  const core::Region region = region_of(GetParam());
  const Kernel kernel = prepare(region);
  Arena arena;
};

TEST_P(Makers, ComputeWhatTheReferenceDoes) {
  std::mt19937_64 random(4);
  const auto one_of = [&](std::initializer_list<int64_t> sizes) {
    return sizes.begin()[random() % sizes.size()];
  };
  int made = 0, several = 0, cut_short = 0, in_memory = 0;
  for (int test = 0; test < 120; ++test) {
    const int64_t b = one_of({1, 1, 2, 3}), m = one_of({0, 1, 2, 11, 12, 13, 48, 300}),
                  k = one_of({0, 1, 3, 16, 17, 64}), n = one_of({0, 1, 7, 8, 9, 64, 65, 130});
    SCOPED_TRACE(std::to_string(b) + ": " + std::to_string(m) + " x " + std::to_string(k) + " x " +
                 std::to_string(n));
    Call call(region, kernel, {b, m, k, n});
    for (size_t i = 0; i < call.operands.size(); ++i) {
      if (i != 1 && random() % 2 == 0) call.operands[i].shuffle_layout(random);
    }
    const std::vector<core::Array> inputs = fill_inputs(call, 4, random);
    const Compiled compiled = encoded(call, test % 10 == 9 ? "ascend910b3" : "cpu");
    run_launches(compiled, call, [&](const Launch& launch) {
      if (launch.made.global < 0) return;
      ++made;
      several += launch.program.header().tile_count > 1;
      cut_short += std::ranges::count(launch.followers, true, &Follower::makes) == 2;
      EXPECT_EQ(launch.program.grid().back(), 1) << "rows are made once";
    });
    in_memory +=
        compiled.workspace_count > kFirstCopied && compiled.workspace_bytes[kFirstCopied] > 0;
    expect_reference(region, call, 4, inputs);
  }
  EXPECT_GT(made, 20);
  EXPECT_GT(several, 4);
  EXPECT_GT(cut_short, 3);
  EXPECT_GT(in_memory, 10);
}

// As dvm.profile keeps them.
TEST_P(Makers, StayWithTheirLaunchInWords) {
  Call call(region, kernel, {2, 300, 16, 8});
  const Compiled compiled = encoded(call);
  const std::vector<std::byte*> globals(16);
  int made = 0;
  compiled.all_launches(globals, [&](const Launch& launch) {
    const std::vector<uint64_t> words = launch_words(launch);
    const LaunchView view = view_launch(words, true);
    EXPECT_EQ(view.made, launch.made);
    EXPECT_EQ(launch_words(view.launch(launch.globals)), words);
    made += launch.made.global >= 0;
    return true;
  });
  EXPECT_EQ(made, 1);
}

TEST_P(Makers, AreRefusedWhereTilesDoNotMatch) {
  Call call(region, kernel, {2, 300, 16, 8});
  const Compiled compiled = encoded(call);
  ASSERT_GT(compiled.stages[compiled.leader].header().tile_count, 2U);
  const auto refusal = [&](const std::function<void(std::vector<Follower>&, HandedOver&)>& spoil) {
    std::vector<Follower> followers(compiled.followers.begin(), compiled.followers.end());
    HandedOver made = compiled.made;
    // The makers first.
    std::ranges::stable_partition(followers, &Follower::makes);
    spoil(followers, made);
    try {
      verify_followers({.program = compiled.stages[compiled.leader],
                        .globals = {},
                        .followers = followers,
                        .handed = compiled.handed,
                        .made = made});
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
  EXPECT_TRUE(names(refusal([](List& all, HandedOver&) { all.erase(all.begin()); }), "no maker"));
  EXPECT_TRUE(names(refusal([](List& all, HandedOver&) { all.push_back(all[0]); }),
                    "has no maker, or several"));
  EXPECT_TRUE(names(refusal([](List& all, HandedOver&) { ++all[0].tiles; }), "behind none"));
  EXPECT_TRUE(names(refusal([](List&, HandedOver& made) { --made.bytes; }), "reads too far"));
  EXPECT_TRUE(names(refusal([](List&, HandedOver& made) { made = {}; }), "no place"));
}

INSTANTIATE_TEST_SUITE_P(Steps, Makers, ::testing::Values(kAlone, kFollowed));

// Of the same work, columns that few rows multiply are read again for each tile: then a trip
// through memory takes less time.
TEST(MadeFactor, IsWrittenToMemoryWhereTilesWouldHaveFewRows) {
  const core::Region region = region_of(kAlone);
  const Kernel kernel = prepare(region);
  const auto is_made = [&](std::vector<int64_t> sizes) {
    Arena arena;
    Call call(region, kernel, std::move(sizes));
    return encode(kernel, call.binding(), target_named("cpu"), arena).made.global >= 0;
  };
  EXPECT_TRUE(is_made({1, 20000, 64, 16}));
  EXPECT_TRUE(is_made({1, 4000, 512, 64}));
  EXPECT_FALSE(is_made({1, 512, 3072, 768}));
  EXPECT_FALSE(is_made({1, 1, 768, 3072}));
}

}  // namespace
}  // namespace dvm::vm
