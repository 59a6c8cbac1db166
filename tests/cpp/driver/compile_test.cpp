// The pipeline as its users see it: names, options, texts and errors.
#include "driver/compile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "driver/added_passes.h"

namespace dvm::driver {
namespace {

constexpr const char* kAdd =
    "graph v1 {\n%0 = input f16[s0, s1]\n%1 = input f16[s0, s1]\n%2 = add(%0, %1) f16[s0, s1]\n"
    "return %2\n}\n";

core::ErrorCode code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const core::Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return core::ErrorCode::internal;
}

// The worked example of the DVM paper (Fig. 6).
TEST(RunPass, TilesTheWorkedExample) {
  EXPECT_EQ(run_pass("tile", "target=ascend910b3 numerics=strict s0=32 s1=1024", kAdd),
            "r0:\n  sizes [32768], tile [832], tail 320 of dim 0, 40 tiles of 832 elements\n");
}

TEST(RunPass, PlanText) {
  EXPECT_EQ(run_pass("plan", "numerics=strict", kAdd),
            "plan v1 {\n"
            "  input b0: f16 rank 2\n"
            "  input b1: f16 rank 2\n"
            "  region r0 = graph v1 {\n"
            "    %0 = input f16[s0, s1]\n"
            "    %1 = input f16[s0, s1]\n"
            "    %2 = add(%0, %1) f16[s0, s1]\n"
            "    return %2\n"
            "  }\n"
            "  i0 = size b0, 0  # s0\n"
            "  i1 = size b0, 1  # s1\n"
            "  i2 = size b1, 0  # s0\n"
            "  i3 = size b1, 1  # s1\n"
            "  check eq, i2, i0  # is s0\n"
            "  check eq, i3, i1  # is s1\n"
            "  b2 = host_alloc f16, [i0, i1]  # %2\n"
            "  run r0, [b0, b1], [b2], [i0, i1], []\n"
            "  ret [b2]\n"
            "}\n");
}

TEST(RunPass, EveryPassRunsByName) {
  const std::vector<std::string> names = pass_names();
  for (const char* expected : {"simplify", "dead_code", "widen_half", "cse", "dense_reshapes",
                               "fuse", "plan", "tile", "encode"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), expected), 1) << expected;
  }
  for (const std::string& name : names) {
    EXPECT_FALSE(run_pass(name, "s0=3 s1=5", kAdd).empty()) << name;
  }
  // And all that there is before it.
  EXPECT_EQ(run_pass("..plan", "", kAdd), run_pass("plan", "", kAdd));
  EXPECT_EQ(run_pass("..cse", "numerics=strict", kAdd), core::print(core::parse_graph(kAdd)));
}

TEST(RunPass, RefusesWhatItDoesNotKnow) {
  using core::ErrorCode;
  auto run = [](const char* pass, const char* options) {
    return code_of([=] { run_pass(pass, options, kAdd); });
  };
  EXPECT_EQ(run("nonsense", ""), ErrorCode::unsupported);
  EXPECT_EQ(run("plan", "target=abacus"), ErrorCode::unknown_target);
  EXPECT_EQ(run("plan", "numerics=loose"), ErrorCode::text_syntax);
  EXPECT_EQ(run("plan", "s0"), ErrorCode::text_syntax);
  EXPECT_EQ(run("tile", "s0=3"), ErrorCode::text_syntax);
  EXPECT_EQ(run("tile", "s0=3 s1=-1"), ErrorCode::text_syntax);
  EXPECT_EQ(run("tile", "s0=3 s1=99999999999999"), ErrorCode::shape_mismatch);
}

TEST(Compile, WideningIsForTheCpuUnlessStrict) {
  const core::Graph graph = core::parse_graph(kAdd);
  auto widens = [&](const char* target, Numerics numerics) {
    const Compilation made = compile(graph, {.target = target, .numerics = numerics});
    return std::any_of(made.passes.begin(), made.passes.end(),
                       [](const PassRecord& pass) { return pass.name == "widen_half"; });
  };
  EXPECT_TRUE(widens("cpu", Numerics::widened));
  EXPECT_FALSE(widens("cpu", Numerics::strict));
  EXPECT_TRUE(widens("ascend910b1", Numerics::widened));  // bf16
  EXPECT_FALSE(widens("ascend910b1", Numerics::strict));
}

TEST(Compile, KeepsWhatItDid) {
  const core::Graph graph = core::parse_graph(kAdd);
  const Compilation made = describe(graph, {});
  ASSERT_FALSE(made.passes.empty());
  EXPECT_EQ(made.passes.back().name, "plan");
  EXPECT_EQ(made.passes.back().text, runtime::print(made.graph.plan()));
  // What runs keeps no texts.
  const Compilation bare = compile(graph, {});
  EXPECT_EQ(runtime::print(bare.graph.plan()), runtime::print(made.graph.plan()));
  ASSERT_EQ(bare.passes.size(), made.passes.size());
  EXPECT_TRUE(bare.passes.back().text.empty());
}

TEST(Compile, TellsOfEachStepInItsStage) {
  const Compilation made = describe(core::parse_graph(kAdd), {});
  Stage last = Stage::prepare;
  for (const PassRecord& pass : made.passes) {
    EXPECT_GE(pass.stage, last) << pass.name;
    EXPECT_GE(pass.matches, pass.effects) << pass.name;
    EXPECT_FALSE(pass.text.empty()) << pass.name;
    last = pass.stage;
  }
  EXPECT_EQ(made.passes.front().name, "stored_dims");
  EXPECT_EQ(last, Stage::build);
}

// As dvm::driver::load has it of a file.
TEST(Compile, LeavesOutWhatIsOffAndWhatIsDone) {
  const core::Graph graph = core::parse_graph(kAdd);
  const auto names = [&](const AddedPasses& passes) {
    std::vector<std::string> found;
    const Compilation made = compile(graph, {.passes = std::make_shared<AddedPasses>(passes)});
    for (const PassRecord& pass : made.passes) found.push_back(pass.name);
    return found;
  };
  AddedPasses passes;
  const std::vector<std::string> all = names(passes);
  passes.off = {"simplify", "cse"};
  std::vector<std::string> some = all;
  std::erase_if(some, [](const std::string& name) { return name == "simplify" || name == "cse"; });
  EXPECT_EQ(names(passes), some);
  passes.off = {};
  passes.resumes_behind = "cse";
  EXPECT_EQ(names(passes), (std::vector<std::string>{"dense_reshapes", "fuse", "plan"}));
}

std::string plan_of(const std::string& body) {
  return run_pass("plan", "", "graph v1 {\n" + body + "\n}\n");
}
int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST(Lower, SizesShareSubexpressions) {
  const std::string plan = plan_of(
      "%0 = input f32[s0, s1]\n%1 = reshape(%0) f32[s0*s1]\n%2 = exp(%1) f32[s0*s1]\n"
      "%3 = reshape(%0) f32[s0*s1, 1]\n%4 = exp(%3) f32[s0*s1, 1]\nreturn %2, %4");
  EXPECT_EQ(count(plan, " = mul "), 1) << plan;
}

TEST(Lower, SymbolsAreSolvedFromLinearSizes) {
  const std::string plan =
      plan_of("%0 = input f32[2*s0 + 1]\n%1 = dim i64[] {size = s0}\nreturn %1");
  EXPECT_EQ(count(plan, "= floordiv "), 1) << plan;
  EXPECT_EQ(count(plan, "check eq"), 1) << "the rest of the division\n" << plan;
  EXPECT_EQ(count(plan, "check ge"), 1) << "s0 is no negative size\n" << plan;
}

TEST(Lower, RangesOfSymbolsAreChecked) {
  const std::string plan =
      plan_of("symbol s0 in [2, 64]\n%0 = input f32[s0]\n%1 = exp(%0) f32[s0]\nreturn %1");
  EXPECT_EQ(count(plan, "check ge"), 1) << plan;
  EXPECT_EQ(count(plan, "check le"), 1) << plan;
}

TEST(Lower, UnknownSizesAreRefused) {
  EXPECT_EQ(
      code_of([] { plan_of("%0 = input f32[s0 + s1]\n%1 = dim i64[] {size = s0}\nreturn %1"); }),
      core::ErrorCode::graph_invalid);
}

// What proofs took for granted is checked before anything rests on it.
TEST(Lower, AssumedEqualitiesAreCheckedFirst) {
  const std::string plan = plan_of(
      "%0 = input f32[s0, 4]\n%1 = input f32[s1]\n%2 = exp(%0) f32[s0, 4]\n"
      "%3 = reshape(%2) f32[s1]\n%4 = add(%3, %1) f32[s1]\nreturn %4");
  EXPECT_LT(plan.find("# 4*s0 == s1"), plan.find(" = alloc ")) << plan;
}

// The size of a result, as of a boolean index, is a symbol like any other once the call is made.
TEST(Lower, SizesOfResultsAreBoundAfterTheCall) {
  const std::string plan = plan_of(
      "%0 = input f32[s0]\n%1 = call(%0) f32[u0] {callee = \"f\"}\n%2 = exp(%1) f32[u0]\n"
      "return %2");
  EXPECT_LT(plan.find(" = call "), plan.find("# u0")) << plan;
  EXPECT_LT(plan.find("# u0"), plan.find(" = host_alloc ")) << plan;
}

// Temporaries die after their last use, and what the host sees is the host's.
TEST(Lower, MemoryLivesAsLongAsItIsUsed) {
  const std::string plan = plan_of(
      "%0 = input f32[s0, s1]\n%1 = max(%0) f32[1, s1] {axes = [0]}\n"
      "%2 = broadcast(%1) f32[s0, s1]\n%3 = sub(%0, %2) f32[s0, s1]\n"
      "%4 = sum(%3) f32[1, s1] {axes = [0]}\n"
      "%5 = call(%4) f32[1, s1] {callee = \"f\"}\n%6 = transpose(%5) f32[s1, 1] {axes = [1, 0]}\n"
      "return %6");
  EXPECT_EQ(count(plan, " = alloc "), 1) << plan;
  EXPECT_EQ(count(plan, " = host_alloc "), 1) << plan;
  EXPECT_EQ(count(plan, "free "), 2) << plan;
}

// A concatenation: its parts are written where they belong, in the memory that is returned.
TEST(Lower, UpdatesHappenInPlace) {
  const std::string plan = plan_of(
      "%0 = input f32[s0]\n%1 = input f32[s1]\n%2 = exp(%0) f32[s0]\n"
      "%3 = empty f32[s0 + s1]\n%4 = update(%3, %2) f32[s0 + s1] {starts = [0], steps = [1]}\n"
      "%5 = update(%4, %1) f32[s0 + s1] {starts = [s0], steps = [1]}\nreturn %5");
  EXPECT_EQ(count(plan, " = alloc "), 0) << plan;
  EXPECT_EQ(count(plan, " = host_alloc "), 1) << plan;
  EXPECT_EQ(count(plan, "  run "), 2) << plan;
}

// Beside calls as well, unless a result of theirs tells the size of the whole or the place in it.
TEST(Lower, PartsAreWrittenInPlaceBesideCalls) {
  const auto joined = [](const std::string& size) {
    return plan_of(
        "%0 = input f32[s0]\n%1 = input f32[s1]\n%2 = exp(%0) f32[s0]\n%3 = call(%1) f32[" + size +
        "] {callee = \"f\"}\n%4 = empty f32[s0 + " + size + "]\n%5 = update(%4, %2) f32[s0 + " +
        size + "] {starts = [0], steps = [1]}\n%6 = update(%5, %3) f32[s0 + " + size +
        "] {starts = [s0], steps = [1]}\nreturn %6");
  };
  EXPECT_EQ(count(joined("s1"), " = alloc "), 0) << joined("s1");
  EXPECT_EQ(count(joined("u0"), " = alloc "), 1) << joined("u0");
}

// What is still needed, or not the Plan's, is copied first.
TEST(Lower, UpdatesCopyWhatOthersNeed) {
  const std::string of_input = plan_of(
      "%0 = input f32[s0]\n%1 = input f32[2]\n"
      "%2 = update(%0, %1) f32[s0] {starts = [1], steps = [-1]}\nreturn %2");
  EXPECT_EQ(count(of_input, "  run "), 2) << of_input;
  const std::string shifted = plan_of(
      "%0 = input f32[s0]\n%1 = exp(%0) f32[s0]\n"
      "%2 = slice(%1) f32[s0 - 1] {starts = [0], steps = [1]}\n"
      "%3 = update(%1, %2) f32[s0] {starts = [1], steps = [1]}\nreturn %3");
  EXPECT_EQ(count(shifted, "  run "), 3) << shifted;
  const std::string both = plan_of(
      "%0 = input f32[s0]\n%1 = exp(%0) f32[s0]\n%2 = input f32[1]\n"
      "%3 = update(%1, %2) f32[s0] {starts = [0], steps = [1]}\nreturn %1, %3");
  EXPECT_EQ(count(both, "  run "), 3) << both;
}

// Whoever reads the old values does so before they are overwritten, so that nothing is copied.
TEST(Lower, ReadersComeBeforeUpdates) {
  const std::string plan = plan_of(
      "%0 = input f32[s0]\n%1 = exp(%0) f32[s0]\n%2 = input f32[1]\n"
      "%3 = sum(%1) f32[1] {axes = [0]}\n"
      "%4 = update(%1, %2) f32[s0] {starts = [0], steps = [1]}\nreturn %3, %4");
  EXPECT_EQ(count(plan, " = alloc "), 0) << plan;
  EXPECT_EQ(count(plan, " = host_alloc "), 2) << plan;
}

// A recurrence over an array, unrolled: each step reads what the one before has written.
TEST(Lower, LongChainsOfUpdatesStayInPlace) {
  std::string body = "%0 = input f32[s0]\n%1 = exp(%0) f32[s0]\n";
  constexpr int kLength = 300;
  for (int i = 0; i < kLength; ++i) {
    auto value = [&](int k) { return "%" + std::to_string(3 * i + k); };
    auto box = [](int start) {
      return " {starts = [" + std::to_string(start) + "], steps = [1]}\n";
    };
    body += value(2) + " = slice(" + value(1) + ") f32[1]" + box(i);
    body += value(3) + " = neg(" + value(2) + ") f32[1]\n";
    body += value(4) + " = update(" + value(1) + ", " + value(3) + ") f32[s0]" + box(i + 1);
  }
  const std::string plan = plan_of(body + "return %" + std::to_string(3 * kLength + 1));
  EXPECT_EQ(count(plan, " = alloc "), kLength) << "a part each";
  EXPECT_EQ(count(plan, " = host_alloc "), 1);
}

TEST(Targets, AreOnePerName) {
  for (const vm::TargetTraits& traits : vm::all_targets()) {
    EXPECT_EQ(&target(traits.name), &target(traits.name));
    EXPECT_EQ(target(traits.name).traits().id, traits.id);
  }
  EXPECT_EQ(code_of([] { target("abacus"); }), core::ErrorCode::unknown_target);
}

}  // namespace
}  // namespace dvm::driver
