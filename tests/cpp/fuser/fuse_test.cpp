// The decisions themselves, on Graphs small enough to know the right answer.
#include "fuser/fuse.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dvm::fuser {
namespace {

Fusion fuse_text(const std::string& body) {
  return fuse(core::parse_graph("graph v1 {\n" + body + "\n}\n"), Limits{});
}

std::string rule_of(const Fusion& fusion, const std::string& what) {
  for (const core::Decision& decision : fusion.decisions) {
    if (decision.what == what) return decision.verdict + " " + decision.rule;
  }
  return "undecided";
}

TEST(Fuse, ChainIsOneRegionAndSavesItsTraffic) {
  const Fusion fusion = fuse_text(
      "%0 = input f32[s0, 64]\n%1 = exp(%0) f32[s0, 64]\n%2 = neg(%1) f32[s0, 64]\nreturn %2");
  ASSERT_EQ(fusion.regions.size(), 1u);
  ASSERT_EQ(fusion.decisions.size(), 1u);
  EXPECT_EQ(fusion.decisions[0].rule, "same-space");
  EXPECT_EQ(fusion.decisions[0].cost, 2.0 * 4 * 64 * 1024);
  EXPECT_NE(fusion.decisions[0].reason.find("512*s0 bytes"), std::string::npos)
      << fusion.decisions[0].reason;
}

TEST(Fuse, ScalarsAndBroadcastsNeverMeetMemory) {
  const Fusion fusion = fuse_text(
      "%0 = input f32[s0, s1]\n%1 = input f32[s1]\n%2 = broadcast(%1) f32[s0, s1]\n"
      "%3 = add(%0, %2) f32[s0, s1]\n%4 = sum(%3) f32[1, s1] {axes = [0]}\n"
      "%5 = transpose(%0) f32[s1, s0] {axes = [1, 0]}\n%6 = broadcast(%1) f32[s1, s1]\n"
      "%7 = exp(%6) f32[s1, s1]\nreturn %4, %5, %7");
  EXPECT_EQ(fusion.regions.size(), 2u);
  for (const FusedRegion& fused : fusion.regions) EXPECT_EQ(fused.outputs.size(), 1u);
  EXPECT_EQ(rule_of(fusion, "fuse %3 -> %4"), "yes trailing-reduction");
}

TEST(Fuse, ConsumerOfAReductionOfColumnsStartsARegion) {
  const Fusion fusion = fuse_text(
      "%0 = input f32[s0, s1]\n%1 = max(%0) f32[1, s1] {axes = [0]}\n"
      "%2 = broadcast(%1) f32[s0, s1]\n%3 = sub(%0, %2) f32[s0, s1]\nreturn %3");
  EXPECT_EQ(fusion.regions.size(), 2u);
  EXPECT_EQ(rule_of(fusion, "fuse %1 -> %3"), "no reduction-ends-region");
}

// A layer norm whose weights have a size of their own, with the numbers per row as results too.
TEST(Fuse, RowsAreComputedByOneRegion) {
  const Fusion fusion = fuse_text(
      "%0 = input f32[s0, s1]\n%1 = input f32[s2]\n%2 = sum(%0) f32[s0, 1] {axes = [1]}\n"
      "%3 = neg(%2) f32[s0, 1]\n%4 = broadcast(%3) f32[s0, s1]\n%5 = add(%0, %4) f32[s0, s1]\n"
      "%6 = mul(%5, %5) f32[s0, s1]\n%7 = sum(%6) f32[s0, 1] {axes = [1]}\n"
      "%8 = sqrt(%7) f32[s0, 1]\n%9 = broadcast(%8) f32[s0, s1]\n"
      "%10 = div(%5, %9) f32[s0, s1]\n%11 = broadcast(%10) f32[s0, bcast(s1, s2)]\n"
      "%12 = broadcast(%1) f32[s0, bcast(s1, s2)]\n"
      "%13 = mul(%11, %12) f32[s0, bcast(s1, s2)]\nreturn %13, %2, %8");
  ASSERT_EQ(fusion.regions.size(), 1u);
  EXPECT_EQ(fusion.regions[0].outputs, (std::vector<core::Value>{2, 8, 13}));
  EXPECT_EQ(rule_of(fusion, "fuse %2 -> %3"), "yes row-by-row");
  EXPECT_EQ(rule_of(fusion, "fuse %10 -> %13"), "yes broadcast-into-space");
}

// One reduction behind the other, until rows too long for a tile would need too many passes.
TEST(Fuse, RowsHaveLimits) {
  std::string text = "%0 = input f32[s0, s1]\n";
  int v = 0;
  for (int i = 0; i < 6; ++i, v += 3) {
    const auto name = [](int value) { return "%" + std::to_string(value); };
    text += name(v + 1) + " = max(" + name(v) + ") f32[s0, 1] {axes = [1]}\n" + name(v + 2) +
            " = broadcast(" + name(v + 1) + ") f32[s0, s1]\n" + name(v + 3) + " = sub(" + name(v) +
            ", " + name(v + 2) + ") f32[s0, s1]\n";
  }
  const Fusion fusion = fuse_text(text + "return %" + std::to_string(v));
  EXPECT_EQ(fusion.regions.size(), 2u);
  EXPECT_EQ(rule_of(fusion, "fuse %13 -> %15"), "no row-limit");
}

TEST(Fuse, ReductionsOverOneSpaceShareTheirInput) {
  const std::string sums = "%0 = input f32[s0, s1]\n%1 = sum(%0) f32[s0, 1] {axes = [1]}\n";
  const Fusion same = fuse_text(sums + "%2 = max(%0) f32[s0, 1] {axes = [1]}\nreturn %1, %2");
  EXPECT_EQ(same.regions.size(), 1u);
  const Fusion other = fuse_text(sums + "%2 = max(%0) f32[1, s1] {axes = [0]}\nreturn %1, %2");
  EXPECT_EQ(other.regions.size(), 2u);
}

TEST(Fuse, AnyPairIsExplainedByTheRulesOfTheWalk) {
  const core::Graph graph = core::parse_graph(
      "graph v1 {\n%0 = input f32[s0, s1]\n%1 = input f32[s2]\n%2 = exp(%0) f32[s0, s1]\n"
      "%3 = sum(%2) f32[1, s1] {axes = [0]}\n%4 = broadcast(%3) f32[s0, s1]\n"
      "%5 = sub(%0, %4) f32[s0, s1]\n%6 = neg(%5) f32[s0, s1]\n%7 = abs(%1) f32[s2]\n"
      "return %6, %7\n}\n");
  const auto rule = [&](core::Value a, core::Value b) {
    const core::Decision decision = explain_pair(graph, Limits{}, a, b);
    return decision.verdict + " " + decision.rule;
  };
  EXPECT_EQ(rule(5, 6), "yes same-region");
  EXPECT_EQ(rule(6, 5), "yes same-region");
  EXPECT_EQ(rule(3, 5), "no reduction-ends-region");
  EXPECT_EQ(rule(2, 7), "no different-space");
  EXPECT_EQ(rule(0, 2), "no input");
  EXPECT_EQ(rule(4, 5), "no inlined");
  EXPECT_NE(rule(2, 6).find("no "), std::string::npos);
}

TEST(Fuse, EqualityIsProvedNeverGuessed) {
  const std::string sides =
      "%0 = input f32[s0]\n%1 = input f32[s1]\n%2 = exp(%0) f32[s0]\n%3 = exp(%1) f32[s1]\n";
  const Fusion apart = fuse_text(sides +
                                 "%4 = broadcast(%2) f32[bcast(s0, s1)]\n"
                                 "%5 = broadcast(%3) f32[bcast(s0, s1)]\n"
                                 "%6 = add(%4, %5) f32[bcast(s0, s1)]\nreturn %6, %2");
  EXPECT_EQ(rule_of(apart, "fuse %3 -> %6"), "yes broadcast-into-space");
  // As an output it would have to be written over another space.
  EXPECT_EQ(rule_of(apart, "fuse %2 -> %6"), "no narrow-output");
}

// What a reshape says of sizes known from the start is checked first, and then known.
TEST(Fuse, ReshapesOfKnownSizesAreAssumed) {
  const Fusion fusion = fuse_text(
      "%0 = input f32[s0, 4]\n%1 = input f32[s1]\n%2 = reshape(%0) f32[s1]\n"
      "%3 = add(%2, %1) f32[s1]\nreturn %3");
  ASSERT_EQ(fusion.assumed.size(), 1u);
  EXPECT_EQ(core::to_string(fusion.assumed[0].first), "4*s0");
}

TEST(Fuse, NothingIsFusedAroundACall) {
  const Fusion fusion = fuse_text(
      "%0 = input f32[s0]\n%1 = exp(%0) f32[s0]\n%2 = call(%1) f32[s0] {callee = \"f\"}\n"
      "%3 = add(%1, %2) f32[s0]\nreturn %3");
  EXPECT_EQ(fusion.regions.size(), 2u);
  EXPECT_EQ(rule_of(fusion, "fuse %1 -> %3"), "no cycle");
  EXPECT_EQ(rule_of(fusion, "fuse %1 -> %2"), "no opaque-call");
}

// The call may write what it is given: who read it before must have run before.
TEST(Fuse, ReadersStayOnTheirSideOfACall) {
  const Fusion fusion = fuse_text(
      "%0 = input f32[s0]\n%1 = exp(%0) f32[s0]\n%2 = call(%0) f32[s0] {callee = \"f\"}\n"
      "%3 = neg(%0) f32[s0]\n%4 = add(%1, %3) f32[s0]\nreturn %4, %2");
  ASSERT_EQ(fusion.order.size(), 3u);
  EXPECT_GE(fusion.order[0].region, 0);
  EXPECT_EQ(fusion.order[1].node, 2);
  EXPECT_EQ(fusion.regions[static_cast<size_t>(fusion.order[0].region)].outputs,
            std::vector<core::Value>{1});
}

// The first node of the Region could run before the call, but the size of another is its result's.
TEST(Fuse, SizesOfResultsAreKnownAfterTheCall) {
  const Fusion fusion = fuse_text(
      "%0 = input f32[s0]\n%1 = input f32[s1]\n%2 = exp(%0) f32[s0]\n"
      "%3 = call(%1) f32[u0] {callee = \"f\"}\n%4 = dim f32[] {size = u0}\n"
      "%5 = broadcast(%4) f32[s0]\n%6 = mul(%2, %5) f32[s0]\nreturn %6");
  EXPECT_EQ(rule_of(fusion, "fuse %2 -> %6"), "yes same-space");
  ASSERT_EQ(fusion.order.size(), 2u);
  EXPECT_EQ(fusion.order[0].node, 3);
  EXPECT_EQ(fusion.order[1].region, 0);
}

TEST(Fuse, DenseReshapesCopyWhatATransposeScattered) {
  const core::Graph graph = pass_dense_reshapes(core::parse_graph(
      "graph v1 {\n%0 = input f32[s0, s1]\n%1 = transpose(%0) f32[s1, s0] {axes = [1, 0]}\n"
      "%2 = reshape(%1) f32[s0*s1]\n%3 = reshape(%2) f32[s0, s1]\nreturn %3\n}\n"));
  ASSERT_EQ(graph.size(), 5);
  EXPECT_EQ(graph.node(2).op, core::Op::broadcast);
  EXPECT_EQ(graph.node(3).inputs[0], 2);
}

TEST(Fuse, DenseReshapesCopyNothingThatOnlySplitsAxes) {
  const auto copies = [](const std::string& body) {
    const core::Graph graph = pass_dense_reshapes(
        core::parse_graph("graph v1 {\n%0 = input f32[s0, 96]\n" + body + "}\n"));
    return std::ranges::count(graph.nodes(), core::Op::broadcast, &core::Node::op);
  };
  const std::string part = "%1 = slice(%0) f32[s0, 32] {starts = [0, 32], steps = [1, 1]}\n";
  EXPECT_EQ(copies(part + "%2 = reshape(%1) f32[s0, 4, 8]\nreturn %2\n"), 0);
  EXPECT_EQ(copies(part + "%2 = reshape(%1) f32[s0*32]\nreturn %2\n"), 1);
  EXPECT_EQ(copies(part + "%2 = reshape(%1) f32[s0, 4, 8]\n"
                          "%3 = reshape(%2) f32[s0*4, 8]\nreturn %3\n"),
            1);
  const std::string turned = "%1 = transpose(%0) f32[96, s0] {axes = [1, 0]}\n";
  EXPECT_EQ(copies(turned + "%2 = reshape(%1) f32[12, 1, 8, s0]\nreturn %2\n"), 0);
  EXPECT_EQ(copies(turned + "%2 = reshape(%1) f32[24, 4*s0]\nreturn %2\n"), 1);
  // A column; and a part of one row, which is dense.
  EXPECT_EQ(copies("%1 = slice(%0) f32[s0, 1] {starts = [0, 3], steps = [1, 1]}\n"
                   "%2 = reshape(%1) f32[s0]\nreturn %2\n"),
            0);
  EXPECT_EQ(copies("%1 = reshape(%0) f32[s0, 12, 8]\n"
                   "%2 = slice(%1) f32[1, 4, 8] {starts = [0, 4, 0], steps = [1, 1, 1]}\n"
                   "%3 = reshape(%2) f32[32]\nreturn %3\n"),
            0);
}

Fusion fuse_with(const std::string& body, const Hints& hints) {
  return fuse(core::parse_graph("graph v1 {\n" + body + "\n}\n"), Limits{}, hints);
}

TEST(Fuse, KeepsApartWhatIsAskedFor) {
  const std::string chain =
      "%0 = input f32[s0]\n%1 = exp(%0) f32[s0]\n%2 = neg(%1) f32[s0]\n"
      "%3 = exp(%2) f32[s0]\nreturn %3";
  const Fusion fusion = fuse_with(chain, {.together = {}, .apart = {{1, 2}}, .assumed = {}});
  ASSERT_EQ(fusion.regions.size(), 2u);
  EXPECT_EQ(fusion.regions[1].members, (std::vector<core::Value>{2, 3}));
  EXPECT_EQ(rule_of(fusion, "fuse %1 -> %2"), "no kept-apart");
  // Every pair: an operation each.
  const Fusion single =
      fuse_with(chain, {.together = {}, .apart = {{1, 2}, {2, 3}, {1, 3}}, .assumed = {}});
  EXPECT_EQ(single.regions.size(), 3u);
}

// Two readers of one tensor, whose sizes are equal in this call.
TEST(Fuse, BringsTogetherWhatSizesAllow) {
  const core::Graph graph = core::parse_graph(
      "graph v1 {\n%0 = input f32[s0]\n%1 = input f32[s1]\n%2 = exp(%0) f32[s0]\n"
      "%3 = neg(%1) f32[s1]\nreturn %2, %3\n}\n");
  Hints hints{.together = {{2, 3}}, .apart = {}, .assumed = {}};
  EXPECT_EQ(fuse(graph, Limits{}, hints).regions.size(), 2u);
  for (const char* name : {"s0", "s1"}) {
    hints.assumed.emplace_back(*graph.dims().find_symbol(name), graph.dims().constant(64));
  }
  const Fusion fusion = fuse(graph, Limits{}, hints);
  ASSERT_EQ(fusion.regions.size(), 1u);
  EXPECT_EQ(fusion.assumed.size(), 2u);  // to be checked
}

TEST(Fuse, NoHintMakesARegionOfWhatIsNone) {
  const Fusion fusion = fuse_with(
      "%0 = input f32[8, 8]\n%1 = max(%0) f32[1, 8] {axes = [0]}\n%2 = broadcast(%1) f32[8, 8]\n"
      "%3 = sub(%0, %2) f32[8, 8]\nreturn %3",
      {.together = {{1, 3}}, .apart = {}, .assumed = {}});
  EXPECT_EQ(fusion.regions.size(), 2u);
  EXPECT_EQ(rule_of(fusion, "fuse %1 -> %3"), "no reduction-ends-region");
}

// Steps that make the left factor of a product, for targets that read it where they made it.
TEST(Fuse, AFactorJoinsItsProduct) {
  const auto fused = [](const std::string& body) {
    Limits limits;
    limits.factors = true;
    return fuse(core::parse_graph("graph v1 {\n" + body + "\n}\n"), limits);
  };
  const std::string factors =
      "%0 = input f32[m, k]\n%1 = input f32[k, n]\n%2 = exp(%0) f32[m, k]\n"
      "%3 = neg(%2) f32[m, k]\n";
  const std::string product = "%4 = matmul(%3, %1) f32[m, n]\n";
  const Fusion made = fused(factors + product + "%5 = abs(%4) f32[m, n]\nreturn %5");
  ASSERT_EQ(made.regions.size(), 1u);
  EXPECT_EQ(made.regions[0].inputs, (std::vector<core::Value>{0, 1}));
  EXPECT_EQ(rule_of(made, "fuse %3 -> %4"), "yes into-product");
  EXPECT_EQ(fuse_text(factors + product + "return %4").regions.size(), 2u) << "no other target";
  const std::pair<const char*, const char*> refused[] = {
      {"%5 = abs(%3) f32[m, k]\nreturn %4, %5", "no factor-shared"},
      {"return %4, %3", "no factor-shared"},
      {"return %4, %2", "no factor-steps"},
      {"%5 = sum(%2) f32[m, 1] {axes = [1]}\nreturn %4, %5", "no factor-steps"}};
  for (const auto& [rest, rule] : refused) {
    const Fusion apart = fused(factors + product + rest);
    EXPECT_EQ(rule_of(apart, "fuse %3 -> %4"), rule) << rest;
  }
  // Neither the right factor, nor one that is repeated for batches.
  EXPECT_EQ(
      rule_of(fused(factors + "%4 = matmul(%0, %1) f32[m, n]\nreturn %4, %3"), "fuse %2 -> %3"),
      "yes same-space");
  EXPECT_EQ(fused("%0 = input f32[m, k]\n%1 = input f32[k, n]\n%2 = exp(%1) f32[k, n]\n"
                  "%3 = matmul(%0, %2) f32[m, n]\nreturn %3")
                .regions.size(),
            2u);
  EXPECT_EQ(fused("%0 = input f32[m, k]\n%1 = input f32[b, k, n]\n%2 = exp(%0) f32[m, k]\n"
                  "%3 = broadcast(%2) f32[b, m, k]\n%4 = matmul(%3, %1) f32[b, m, n]\nreturn %4")
                .regions.size(),
            2u);
}

TEST(Fuse, RefusedEdgesSayWhatTheyWouldSave) {
  const Fusion fusion = fuse_with(
      "%0 = input f32[8, 16]\n%1 = max(%0) f32[1, 16] {axes = [0]}\n"
      "%2 = broadcast(%1) f32[8, 16]\n%3 = sub(%0, %2) f32[8, 16]\nreturn %3",
      {});
  const auto refused =
      std::find_if(fusion.decisions.begin(), fusion.decisions.end(),
                   [](const core::Decision& d) { return d.what == "fuse %1 -> %3"; });
  ASSERT_NE(refused, fusion.decisions.end());
  EXPECT_EQ(refused->cost, 2 * 4 * 16);
}

}  // namespace
}  // namespace dvm::fuser
