// bind(): merged dims must visit the same elements in the same order as the Region's own dims.
#include "vm/tile/bind.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/error.h"
#include "region_util.h"

namespace dvm::vm {
namespace {

struct Bound {
  core::Region region;
  Kernel kernel;
  Call call;
  Stage stage;
  OutputMask left;
  Bound(std::string_view text, const std::vector<int64_t>& symbols)
      : region(region_of(text)), kernel(prepare(region)), call(region, kernel, symbols) {
    left = bind(kernel, call.binding(), all_outputs(kernel), stage);
  }
  std::vector<int64_t> sizes() const { return {stage.sizes, stage.sizes + stage.rank}; }
  std::vector<std::string> insns() const {
    std::vector<std::string> names;
    for (int i = 0; i < stage.step_count; ++i) {
      names.emplace_back(info(stage.steps[i].insn).name);
    }
    return names;
  }
};
using Sizes = std::vector<int64_t>;
using Names = std::vector<std::string>;

constexpr std::string_view kBias = R"(
  %0 = input f32[s0, s1, s2]
  %1 = input f32[s2]
  %2 = broadcast(%1) f32[s0, s1, s2]
  %3 = add(%0, %2) f32[s0, s1, s2]
  return %3)";

TEST(Bind, MergesWhatEveryOperandWalksAsOne) {
  EXPECT_EQ(Bound(kBias, {4, 5, 6}).sizes(), (Sizes{20, 6}));
  EXPECT_EQ(Bound(kBias, {4, 5, 6}).insns(), (Names{"broadcast", "add"}));
}

TEST(Bind, SizesOfOneVanishAndSoDoTheirBroadcasts) {
  const Bound row(kBias, {1, 1, 6});
  EXPECT_EQ(row.sizes(), (Sizes{6}));
  EXPECT_EQ(row.insns(), (Names{"add"}));
  const Bound one(kBias, {1, 1, 1});
  EXPECT_EQ(one.sizes(), (Sizes{1}));
  EXPECT_EQ(one.stage.accesses[0].span, 0);
}

TEST(Bind, EmptyOutputsNeedNothing) {
  const Bound empty(kBias, {4, 0, 6});
  EXPECT_EQ(empty.stage.output_count, 0);
  EXPECT_EQ(empty.left, 0u);
}

constexpr std::string_view kSum = R"(
  %0 = input f32[s0, s1, s2]
  %1 = sum(%0) f32[s0, 1, s2] {axes = [1]}
  return %1)";

TEST(Bind, SumOrderDependsOnWhatFollowsTheReducedAxes) {
  const Bound columns(kSum, {4, 5, 6});
  EXPECT_EQ(columns.sizes(), (Sizes{4, 5, 6}));
  EXPECT_EQ(columns.stage.reduce_begin, 1);
  EXPECT_EQ(columns.stage.reduce_end, 2);
  EXPECT_EQ(columns.stage.steps[0].aux, static_cast<uint8_t>(ReduceOrder::sequential));
  const Bound rows(kSum, {4, 5, 1});
  EXPECT_EQ(rows.sizes(), (Sizes{4, 5}));
  EXPECT_EQ(rows.stage.steps[0].aux, static_cast<uint8_t>(ReduceOrder::lanes));
}

TEST(Bind, SumsOverNothingAndOverOne) {
  const Bound nothing(kSum, {4, 0, 6});
  EXPECT_EQ(nothing.insns(), (Names{"copy"}));
  EXPECT_EQ(nothing.sizes(), (Sizes{24}));
  EXPECT_EQ(nothing.stage.scalars[0], Scalar());
  const Bound one(kSum, {4, 1, 6});
  EXPECT_EQ(one.insns(), (Names{"add"})) << "to 0, so that -0 does not stay";
  const Bound only(R"(%0 = input f32[s0]
    %1 = max(%0) f32[1] {axes = [0]}
    return %1)",
                   {1});
  EXPECT_EQ(only.insns(), Names{}) << "the output is the input";
  EXPECT_EQ(only.stage.values[only.stage.outputs[0].value].kind, StageValue::Kind::global);
  const Bound lowest(R"(%0 = input f32[s0]
    %1 = max_or_lowest(%0) f32[1] {axes = [0]}
    return %1)",
                     {0});
  EXPECT_EQ(lowest.insns(), (Names{"copy"}));
  EXPECT_EQ(lowest.stage.scalars[0], Scalar::of_float(-HUGE_VAL));
}

TEST(Bind, OutputsThatMoveOverOtherDimsAreStagesOfTheirOwn) {
  constexpr std::string_view kText = R"(
    %0 = input f32[s0]
    %1 = neg(%0) f32[s0]
    %2 = broadcast(%1) f32[s1, s0]
    return %2, %1)";
  Bound apart(kText, {5, 3});
  EXPECT_EQ(apart.sizes(), (Sizes{3, 5}));
  EXPECT_EQ(apart.left, 0b10u);
  EXPECT_EQ(bind(apart.kernel, apart.call.binding(), apart.left, apart.stage), 0u);
  EXPECT_EQ(apart.sizes(), (Sizes{5}));
  const Bound together(kText, {5, 1});
  EXPECT_EQ(together.left, 0u);
  EXPECT_EQ(together.insns(), (Names{"neg"}));
}

// Byte offsets of an access in the order of its Stage, or of the Region, where it moves.
std::vector<int64_t> walk(const Sizes& sizes, const int64_t* strides) {
  std::vector<int64_t> offsets{0};
  for (size_t d = 0; d < sizes.size(); ++d) {
    std::vector<int64_t> longer;
    for (int64_t offset : offsets) {
      for (int64_t i = 0; i < sizes[d]; ++i) longer.push_back(offset + i * strides[d]);
    }
    offsets = std::move(longer);
  }
  return offsets;
}

TEST(Bind, MergedStridesAddressTheSameElements) {
  int merged = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
    const int rank = static_cast<int>(1 + below(5));
    core::Region region{"r0", core::Graph()};
    core::Graph& g = region.body;
    core::Shape space;
    Sizes sizes;
    for (int d = 0; d < rank; ++d) {
      space.push_back(g.dims().symbol("s" + std::to_string(d)));
      sizes.push_back(below(4) == 0 ? below(2) : 2 + below(4));
    }
    core::Value sum = -1;
    for (int64_t i = 1 + below(3); i > 0; --i) {
      core::Shape shape = space;
      for (core::Dim& dim : shape) {
        if (below(5) == 0) dim = g.dims().constant(1);
      }
      const core::Value v = g.broadcast(g.input({DType::f32, shape}), space);
      sum = sum < 0 ? v : g.elementwise(core::Op::add, std::vector{sum, v});
    }
    // Reduced axes stay apart from the others, but merge among themselves.
    if (below(2) == 0) {
      const auto axis = static_cast<int>(below(static_cast<uint64_t>(rank)));
      sum = g.reduce(core::Op::sum, sum, {axis});
    }
    g.outputs = {sum};
    const Kernel kernel = prepare(region);
    Call call(region, kernel, sizes);
    for (Tensor& tensor : call.operands) {
      if (below(2) == 0) tensor.shuffle_layout(random);
      for (int64_t& stride : tensor.strides) {
        if (below(8) == 0) stride = 0;
      }
    }
    Stage stage;
    bind(kernel, call.binding(), all_outputs(kernel), stage);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + core::print(g));
    const bool empty = std::ranges::count(call.operands.back().shape, 0) != 0;
    ASSERT_EQ(stage.output_count, empty ? 0 : 1);
    if (empty || std::ranges::count(sizes, 0) != 0) continue;
    const Sizes bound(stage.sizes, stage.sizes + stage.rank);
    for (int a = 0; a < stage.access_count; ++a) {
      const StageAccess& access = stage.accesses[a];
      const Tensor& tensor = call.operands[static_cast<size_t>(access.global)];
      int64_t strides[kMaxRank] = {};
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (tensor.shape[d] != 1) strides[d] = tensor.strides[d];
      }
      ASSERT_EQ(walk(bound, access.strides), walk(sizes, strides)) << "access " << a;
    }
    merged += stage.rank < rank;
  }
  EXPECT_GT(merged, 1000);
}

}  // namespace
}  // namespace dvm::vm
