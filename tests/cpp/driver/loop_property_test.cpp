// Graphs with loops and branches within each other, compiled, against the reference evaluator.
// DVM_LOOPS asks for more of them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/loop_generator.h"
#include "driver/execute_case.h"

namespace dvm::driver {
namespace {

uint64_t cases() {
  const char* const wanted = std::getenv("DVM_LOOPS");
  return wanted ? std::strtoull(wanted, nullptr, 10) : 300;
}

void check_loops(uint64_t seed, const std::string& target) {
  const test::GraphCase test_case = test::generate_loops(seed);
  const std::vector<core::Array> expected =
      core::evaluate(test_case.graph, test_case.inputs, test::generated_host);
  const Compilation compilation =
      compile(test_case.graph, {.target = target, .numerics = Numerics::strict, .verify = true});
  const std::string plan = runtime::print(compilation.graph.plan());
  ASSERT_TRUE(runtime::equal(runtime::parse_plan(plan), compilation.graph.plan())) << plan;
  test::FakeHost host;
  for (int call = 0; call < 2; ++call) {
    const Executed done = run(compilation.graph, test_case, host, static_cast<int>(seed % 3));
    ASSERT_EQ(done.outcome, runtime::Outcome::done) << core::print(test_case.graph) << plan;
    for (size_t k = 0; k < expected.size(); ++k) {
      ASSERT_TRUE(test::same_values(done.results[k], expected[k]))
          << "result " << k << "\n"
          << core::print(test_case.graph) << plan;
    }
  }
}

class LoopsOn : public testing::TestWithParam<std::string> {};

TEST_P(LoopsOn, EqualTheReference) {
  for (uint64_t seed = 0; seed < cases() && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    check_loops(seed, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, LoopsOn, testing::Values("cpu", "ascend910b1"),
                         [](const auto& target) { return target.param; });

// A host that fails anywhere leaves nothing behind.
TEST(Loops, LoseNothingWhereTheHostFails) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const test::GraphCase test_case = test::generate_loops(seed);
    const Compilation compilation = compile(test_case.graph, {.verify = true});
    for (int64_t fails = 0; fails < 12; ++fails) {
      test::FakeHost host;
      host.fail_after_inputs = fails;
      run(compilation.graph, test_case, host, 0);
    }
  }
}

}  // namespace
}  // namespace dvm::driver
