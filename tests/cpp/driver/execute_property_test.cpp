// The whole way from Graph to results, against the reference evaluator: every target, layouts of
// arguments that are not C order, and calls that fail.
#include <gtest/gtest.h>

#include "core/graph_generator.h"
#include "core/passes.h"
#include "driver/compile.h"
#include "runtime/executor.h"
#include "runtime/fake_host.h"

namespace dvm::driver {
namespace {

using core::Array;
using test::BufferView;
using test::FakeHost;
using test::GraphCase;

core::Scalar scalar_of(const Array& array) {
  core::Scalar value;
  core::dispatch(array.dtype, [&]<core::DType D>() {
    const core::Storage<D> x = core::elements<core::Storage<D>>(array)[0];
    if constexpr (core::is_floating(D)) {
      value = core::Scalar::of_float(core::scalar::cast<double>(x));
    } else {
      value = core::Scalar::of_int(static_cast<int64_t>(x));
    }
  });
  return value;
}

struct Run {
  runtime::Outcome outcome;
  std::vector<Array> results;
};

// Runs the Plan once; fails the test where a reference is lost.
Run run(const runtime::Plan& plan, vm::Target& target, const GraphCase& test_case, FakeHost& host,
        int layout) {
  std::vector<BufferView> inputs;
  std::vector<core::Scalar> scalars;
  const std::vector<core::Value> arguments = test_case.graph.inputs();
  for (size_t k = 0; k < arguments.size(); ++k) {
    if (test_case.graph.node(arguments[k]).op == core::Op::scalar) {
      scalars.push_back(scalar_of(test_case.inputs[k]));
    } else {
      inputs.push_back(test::to_buffer(host, test_case.inputs[k], layout));
    }
  }
  host.function = [&](int callee, std::span<const BufferView> args, BufferView& result) {
    std::vector<Array> arrays;
    for (const BufferView& arg : args) arrays.push_back(test::to_array(arg));
    result = test::to_buffer(
        host, test::generated_host(plan.callees[static_cast<size_t>(callee)], arrays), 0);
    return true;
  };
  const int64_t before = host.live;
  std::vector<BufferView> results(static_cast<size_t>(plan.result_count()));
  runtime::ExecutionContext& context = runtime::ExecutionContext::acquire();
  Run done{runtime::execute(plan, target, host, inputs, scalars, results, context), {}};
  runtime::ExecutionContext::release(context);
  if (done.outcome == runtime::Outcome::done) {
    for (const BufferView& result : results) {
      done.results.push_back(test::to_array(result));
      host.release(result.owner);
    }
  }
  EXPECT_EQ(host.live, before) << "references were lost";
  for (const BufferView& input : inputs) host.release(input.owner);
  EXPECT_EQ(host.live, 0) << "references to arguments were lost";
  return done;
}

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

void check_case(uint64_t seed, const std::string& target_name, Numerics numerics) {
  SCOPED_TRACE("seed " + std::to_string(seed) + " on " + target_name);
  test::GeneratorOptions generator;
  generator.nodes = 4 + static_cast<int>(seed % 20);
  const GraphCase test_case = test::generate_graph(seed, generator);
  const Options options{.target = target_name, .numerics = numerics, .record_text = false};
  const Compilation compilation = compile(test_case.graph, options);
  core::Graph meaning = test_case.graph;
  if (numerics == Numerics::widened) {
    meaning = core::pass_widen_half(core::pass_fold_casts(core::pass_dead_code(meaning)));
  }
  const std::vector<Array> expected =
      core::evaluate(meaning, test_case.inputs, test::generated_host, test_case.symbols);
  const int layout = static_cast<int>(seed / 3 % 4);
  FakeHost host;
  const Run done = run(compilation.plan, target(target_name), test_case, host, layout);
  // Only a reshape of an argument that is not contiguous may be given up.
  if (done.outcome == runtime::Outcome::check_failed && layout != 0) {
    EXPECT_TRUE(has_reshape(test_case.graph)) << core::print(test_case.graph);
    return;
  }
  ASSERT_EQ(done.outcome, runtime::Outcome::done)
      << core::print(test_case.graph) << runtime::print(compilation.plan);
  ASSERT_EQ(done.results.size(), expected.size());
  for (size_t k = 0; k < expected.size(); ++k) {
    ASSERT_TRUE(test::same_values(done.results[k], expected[k]))
        << "result " << k << ": " << bytes_of(done.results[k]) << "is not " << bytes_of(expected[k])
        << "\n"
        << core::print(test_case.graph) << runtime::print(compilation.plan);
  }
}

class EveryTarget : public testing::TestWithParam<std::string> {};

TEST_P(EveryTarget, EqualsReference) {
  for (uint64_t seed = 0; seed < 2000 && !HasFatalFailure(); ++seed) {
    check_case(seed, GetParam(), Numerics::strict);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Targets, EveryTarget,
    [] {
      std::vector<std::string> names;
      for (const vm::TargetTraits& traits : vm::all_targets()) names.emplace_back(traits.name);
      return testing::ValuesIn(names);
    }(),
    [](const auto& param) { return param.param; });

}  // namespace
}  // namespace dvm::driver
