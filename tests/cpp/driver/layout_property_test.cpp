// Arguments in random layouts, on every target, against the reference evaluator. What the encoder
// makes of them is verified (core::verifies), so that a Program which would read outside its
// operands fails even where the bytes there do no harm.
//
// DVM_LAYOUT_CASES in the environment is the number of cases for each target.
#include <gtest/gtest.h>

#include <cstdlib>

#include "driver/execute_case.h"
#include "runtime/random_layout.h"
#include "vm/distinct_targets.h"

namespace dvm::driver {
namespace {

using core::Array;
using test::GraphCase;

uint64_t case_count() {
  const char* text = std::getenv("DVM_LAYOUT_CASES");
  return text == nullptr ? 600 : std::strtoull(text, nullptr, 10);
}

constexpr int64_t kMostElements = 20000;

// One operation over one array, which is what a caller's own layouts reach unchanged: reductions of
// every dtype over every choice of axes, chains of two steps, and both.
GraphCase single_operation(test::Random& random) {
  GraphCase made;
  core::Graph& graph = made.graph;
  const int rank = 1 + static_cast<int>(random.below(4));
  core::Shape shape;
  std::vector<int64_t> sizes;
  int64_t elements = 1;
  for (int d = 0; d < rank; ++d) {
    shape.push_back(graph.dims().symbol("s" + std::to_string(d)));
    const int64_t choices[] = {0, 1, 2, 3, 5, 8, 17, 64, 65, 130, 520};
    sizes.push_back(choices[random.below(random.chance(5) ? 3 : 11)]);
    elements *= std::max<int64_t>(sizes.back(), 1);
    if (elements > kMostElements) sizes.back() = 1 + d % 2;
  }
  const core::DType dtypes[] = {core::DType::f32, core::DType::f64, core::DType::i32,
                                core::DType::i64, core::DType::u8,  core::DType::boolean,
                                core::DType::f16, core::DType::bf16};
  const core::DType dtype = random.pick(dtypes);
  const core::Value operand = graph.input({dtype, shape});
  core::Value value = operand;
  const bool numeric = dtype != core::DType::boolean;
  if (numeric && random.chance(50)) {
    value = graph.elementwise(core::Op::mul, std::vector{value, value});
    value = graph.elementwise(core::Op::add, std::vector{value, operand});
  }
  const std::vector<core::Op> reductions = test::ops_of_class(core::OpClass::reduce);
  const core::Op op = reductions[static_cast<size_t>(random.below(std::ssize(reductions)))];
  if (core::allows(core::reduce_info(op).dtypes, dtype) && random.chance(75)) {
    std::vector<int> axes;  // neighbours
    for (int d = static_cast<int>(random.below(rank)); d < rank; ++d) {
      axes.push_back(d);
      if (random.chance(50)) break;
    }
    value = graph.reduce(op, value, axes);
  }
  graph.outputs = {value};
  made.symbols = sizes;
  made.inputs = {random.array(dtype, sizes, true)};
  return made;
}

class EveryTargetLayouts : public testing::TestWithParam<std::string> {
 protected:
  void check(GraphCase test_case, test::Random& random, Numerics numerics) {
    const Options options{.target = GetParam(), .numerics = numerics, .verify = true};
    const Compilation compilation = compile(test_case.graph, options);
    test::FakeHost host;
    const auto placed = place_inputs(test_case, [&](size_t k) {
      return test::to_random_buffer(host, test_case.inputs[k], random);
    });
    std::vector<Array> expected;
    bool defined = true;
    try {
      expected = core::evaluate(meaning_of(test_case.graph, options), test_case.inputs,
                                test::generated_host, test_case.symbols);
    } catch (const core::Error& error) {
      ASSERT_NE(error.code(), core::ErrorCode::internal) << error.what();
      defined = false;
    }
    const Executed done = run(compilation.graph, test_case, host, placed);
    // A Plan gives up what it cannot lay out; that it is not all of them is asked below.
    if (!defined || done.outcome == runtime::Outcome::check_failed) return;
    ASSERT_EQ(done.outcome, runtime::Outcome::done);
    ++compared;
    ASSERT_EQ(done.results.size(), expected.size());
    for (size_t k = 0; k < expected.size(); ++k) {
      ASSERT_TRUE(test::same_values(done.results[k], expected[k]))
          << "result " << k << "\n"
          << core::print(test_case.graph) << runtime::print(compilation.graph.plan());
    }
  }
  uint64_t compared = 0;
};

TEST_P(EveryTargetLayouts, SingleOperations) {
  for (uint64_t seed = 0; seed < case_count() && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::Random random(seed);
    GraphCase test_case = single_operation(random);
    check(std::move(test_case), random, Numerics::strict);
  }
  EXPECT_GT(compared, case_count() * 3 / 4);
}

TEST_P(EveryTargetLayouts, GeneratedGraphs) {
  for (uint64_t seed = 0; seed < case_count() && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::Random random(seed + 1);
    GraphCase test_case = test::generate_graph(
        seed,
        {.nodes = 2 + static_cast<int>(seed % 12), .max_elements = seed % 10 == 0 ? 100000 : 2000});
    check(std::move(test_case), random, seed % 2 ? Numerics::strict : Numerics::widened);
  }
  EXPECT_GT(compared, case_count() / 2);
}

INSTANTIATE_TEST_SUITE_P(Targets, EveryTargetLayouts,
                         testing::ValuesIn(vm::distinct_target_names()),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace dvm::driver
