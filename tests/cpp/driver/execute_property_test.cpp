// The whole way from Graph to results, against the reference evaluator: every target, layouts of
// arguments that are not C order, and calls that fail.
#include <gtest/gtest.h>

#include "driver/execute_case.h"
#include "vm/distinct_targets.h"

namespace dvm::driver {
namespace {

using core::Array;
using test::FakeHost;
using test::GraphCase;

std::string bytes_of(const Array& array) {
  std::string text;
  for (size_t i = 0; i < array.data.size() && i < 64; ++i) {
    char hex[4];
    std::snprintf(hex, sizeof hex, "%02x ", static_cast<unsigned>(array.data[i]));
    text += hex;
  }
  return text;
}

bool has_reshape(const core::Graph& graph) {
  for (const core::Node& node : graph.nodes()) {
    if (node.op == core::Op::reshape) return true;
  }
  return false;
}

// The reference refuses every negative start; a Plan runs where such a start belongs to an empty
// slice, as a[::-1] of an empty array does.
bool has_negative_start(const core::Graph& graph, std::span<const int64_t> symbols) {
  auto negative = [&](core::Dim dim) { return core::evaluate(dim, symbols).value_or(0) < 0; };
  for (const core::Node& node : graph.nodes()) {
    for (core::Dim start : node.attrs.starts) {
      if (negative(start)) return true;
    }
  }
  return false;
}

struct Tally {
  int done = 0, given_up = 0, refused = 0;
};

void check_case(const GraphCase& test_case, std::span<const int64_t> sizes, const Options& options,
                int layout, Tally& tally) {
  FakeHost host;
  const LentConstants constants(test_case.graph, host, layout);
  const Compilation compilation = compile(constants.graph(), options);
  std::vector<Array> expected;
  bool defined = true;
  try {
    expected = core::evaluate(meaning_of(test_case.graph, options), test_case.inputs,
                              test::generated_host, test_case.symbols);
  } catch (const core::Error& error) {
    ASSERT_NE(error.code(), core::ErrorCode::internal) << error.what();
    defined = false;
  }
  // Again by record, where there is one.
  Executed done = run(compilation.graph, test_case, host, layout, constants.count());
  if (done.outcome == runtime::Outcome::done)
    done = run(compilation.graph, test_case, host, layout, constants.count());
  const std::string programs =
      core::print(test_case.graph) + runtime::print(compilation.graph.plan());
  if (!defined) {
    ++tally.refused;
    ASSERT_TRUE(done.outcome == runtime::Outcome::check_failed ||
                has_negative_start(test_case.graph, sizes))
        << programs;
    return;
  }
  // Only a reshape of an argument that is not contiguous may be given up.
  if (done.outcome == runtime::Outcome::check_failed && layout != 0) {
    ++tally.given_up;
    ASSERT_TRUE(has_reshape(test_case.graph)) << programs;
    return;
  }
  ASSERT_EQ(done.outcome, runtime::Outcome::done) << programs;
  ++tally.done;
  ASSERT_EQ(done.results.size(), expected.size());
  for (size_t k = 0; k < expected.size(); ++k) {
    ASSERT_TRUE(test::same_values(done.results[k], expected[k]))
        << "result " << k << ": " << bytes_of(done.results[k]) << "is not " << bytes_of(expected[k])
        << "\n"
        << programs;
  }
}

class EveryTarget : public testing::TestWithParam<std::string> {
 protected:
  Options options(Numerics numerics) const {
    return {.target = GetParam(), .numerics = numerics, .verify = true};
  }
  static GraphCase generate(uint64_t seed, int64_t max_elements) {
    test::GeneratorOptions generator;
    generator.nodes = 4 + static_cast<int>(seed % 20);
    generator.max_elements = max_elements;
    generator.named = true;
    return test::generate_graph(seed, generator);
  }
};

TEST_P(EveryTarget, EqualsReference) {
  Tally tally;
  for (uint64_t seed = 0; seed < 1500 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Numerics numerics = seed % 2 ? Numerics::strict : Numerics::widened;
    const GraphCase test_case = generate(seed, seed % 10 == 0 ? 100000 : 2000);
    check_case(test_case, test_case.symbols, options(numerics), static_cast<int>(seed / 3 % 4),
               tally);
  }
  EXPECT_GT(tally.done, 1200);
  EXPECT_LT(tally.given_up, 200);
}

// Arguments of other sizes than those the Graph was made with: whatever the reference refuses must
// be given up before anything is visible, and the rest computed.
TEST_P(EveryTarget, OtherSizes) {
  Tally tally;
  for (uint64_t seed = 0; seed < 1500 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    GraphCase test_case = generate(seed, 2000);
    test::Random random(seed);
    test_case.symbols.clear();
    std::vector<int64_t> sizes;
    for (int i = 0; i < test_case.graph.dims().symbol_count(); ++i)
      sizes.push_back(random.below(7));
    const std::vector<core::Value> arguments = test_case.graph.inputs();
    for (size_t k = 0; k < arguments.size(); ++k) {
      const core::Type& type = test_case.graph.type(arguments[k]);
      std::vector<int64_t> shape;
      for (core::Dim dim : type.shape) {
        int64_t size = core::evaluate(dim, sizes).value_or(1);
        if (random.chance(4)) size = random.below(4);
        shape.push_back(std::max<int64_t>(size, 0));
      }
      Array& input = test_case.inputs[k] = random.array(type.dtype, shape, true);
      const core::Dim number = test_case.graph.node(arguments[k]).attrs.size;
      if (number && !random.chance(4))
        core::elements<int64_t>(input)[0] = core::evaluate(number, sizes).value_or(0);
    }
    check_case(test_case, sizes, options(Numerics::strict), 0, tally);
  }
  EXPECT_GT(tally.done, 500);
  EXPECT_GT(tally.refused, 100);
}

// Every reduction of every dtype over few, many and no elements, along rows and along columns.
TEST_P(EveryTarget, ReductionsOfEverySize) {
  Tally tally;
  const std::vector<int64_t> shapes[] = {{0, 0}, {0, 3}, {3, 0},   {1, 1},   {1, 7},
                                         {9, 1}, {5, 4}, {33, 70}, {600, 3}, {2, 1100}};
  for (const auto& shape : shapes) {
    for (const core::Op op : test::ops_of_class(core::OpClass::reduce)) {
      for (int d = 0; d < core::kDTypeCount && !HasFatalFailure(); ++d) {
        const auto dtype = static_cast<core::DType>(d);
        if (!core::allows(core::reduce_info(op).dtypes, dtype)) continue;
        for (const std::vector<int>& axes : {std::vector{0}, {1}, {0, 1}}) {
          GraphCase reduction;
          core::Graph& graph = reduction.graph;
          const core::Shape sizes = {graph.dims().symbol("s0"), graph.dims().symbol("s1")};
          const core::Value operand = graph.input({dtype, sizes}, {});
          graph.outputs = {graph.reduce(op, operand, axes, {})};
          reduction.symbols = shape;
          test::Random random(static_cast<uint64_t>(d));
          reduction.inputs = {random.array(dtype, shape, true)};
          check_case(reduction, shape, options(Numerics::strict), 0, tally);
        }
      }
    }
  }
  EXPECT_GT(tally.done, 1500);
  EXPECT_GT(tally.refused, 50);
}

INSTANTIATE_TEST_SUITE_P(Targets, EveryTarget, testing::ValuesIn(vm::distinct_target_names()),
                         [](const auto& param) { return param.param; });

// Every allocation and every call fails once: nothing is left behind, no result is filled.
TEST(HostFailure, ReleasesEverything) {
  int failures = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const GraphCase test_case = test::generate_graph(seed, {.nodes = 16, .named = true});
    for (int64_t fail = 0; fail < 20; ++fail) {
      FakeHost host;
      const LentConstants constants(test_case.graph, host, 0);
      const Compilation compilation = compile(constants.graph(), {});
      host.fail_after_inputs = fail;
      const Executed done = run(compilation.graph, test_case, host, 0, constants.count());
      if (done.outcome == runtime::Outcome::done) break;
      ASSERT_EQ(done.outcome, runtime::Outcome::host_error);
      ++failures;
    }
  }
  EXPECT_GT(failures, 300);
}

}  // namespace
}  // namespace dvm::driver
