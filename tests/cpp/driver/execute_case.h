// Runs the Plan of a generated Graph as a caller would: arguments in any layout, host calls, and
// every reference accounted for.
#pragma once

#include <gtest/gtest.h>

#include "core/graph_generator.h"
#include "core/passes/passes.h"
#include "driver/compile.h"
#include "runtime/execute/executor.h"
#include "runtime/fake_host.h"

namespace dvm::driver {

inline core::Scalar scalar_of(const core::Array& array) {
  return core::dispatch(array.dtype, [&]<core::DType D>() {
    return core::scalar_of<D>(core::elements<core::Storage<D>>(array)[0]);
  });
}

// The constants of a Graph that have a name, as the host holds them in some layout, lent to a copy
// of the Graph.
class LentConstants {
 public:
  LentConstants(const core::Graph& graph, test::FakeHost& host, int layout)
      : graph_(graph), host_(host) {
    for (core::Value v = 0; v < graph.size(); ++v) {
      if (graph.node(v).attrs.name.empty()) continue;
      const core::TensorData& from = *graph.node(v).attrs.values;
      const runtime::BufferView view =
          test::to_buffer(host, {from.dtype, from.shape, core::dense_bytes(from)}, layout);
      owners_.push_back(view.owner);
      graph_.supply(v, core::Tensor({.dtype = from.dtype,
                                     .shape = from.shape,
                                     .strides = {view.strides, view.strides + view.rank},
                                     .data = view.data,
                                     .owner = view.owner}));
    }
  }
  ~LentConstants() {
    for (const runtime::HostValue owner : owners_) host_.release(owner);
    EXPECT_EQ(host_.live, 0) << "references to constants were lost";
  }
  LentConstants(const LentConstants&) = delete;
  LentConstants& operator=(const LentConstants&) = delete;

  const core::Graph& graph() const { return graph_; }
  int64_t count() const { return static_cast<int64_t>(owners_.size()); }

 private:
  core::Graph graph_;
  test::FakeHost& host_;
  std::vector<runtime::HostValue> owners_;
};

struct Executed {
  runtime::Outcome outcome;
  std::vector<core::Array> results;
};

inline core::Array array_of(const runtime::HostNumber& number) {
  core::Array array = core::make_array(number.dtype, {});
  core::dispatch(number.dtype, [&]<core::DType D>() {
    core::elements<core::Storage<D>>(array)[0] = core::element_of<D>(number.value);
  });
  return array;
}

// The tensors among the arguments of a case as the host holds them, made by
// place(index of the argument).
template <typename Place>
std::vector<runtime::BufferView> place_inputs(const test::GraphCase& test_case, Place place) {
  std::vector<runtime::BufferView> inputs;
  const std::vector<core::Value> arguments = test_case.graph.inputs();
  for (size_t k = 0; k < arguments.size(); ++k) {
    if (test_case.graph.node(arguments[k]).op != core::Op::scalar) inputs.push_back(place(k));
  }
  return inputs;
}

// Runs the Plan once on tensors that it releases; fails the test where a reference is lost, of
// which the host keeps `constants`.
inline Executed run(const runtime::CompiledGraph& compiled, const test::GraphCase& test_case,
                    test::FakeHost& host, const std::vector<runtime::BufferView>& inputs,
                    int64_t constants = 0) {
  const runtime::Plan& plan = compiled.plan();
  std::vector<core::Scalar> scalars;
  const std::vector<core::Value> arguments = test_case.graph.inputs();
  for (size_t k = 0; k < arguments.size(); ++k) {
    if (test_case.graph.node(arguments[k]).op == core::Op::scalar)
      scalars.push_back(scalar_of(test_case.inputs[k]));
  }
  if (host.fail_after_inputs >= 0) host.fail_at = host.allocations + host.fail_after_inputs;
  const auto compute = [&](const runtime::HostCall& call, size_t results) {
    EXPECT_EQ(call.name, plan.callees[static_cast<size_t>(call.callee)]);
    std::vector<core::Array> arrays, numbers;
    for (const runtime::BufferView& array : call.arrays) arrays.push_back(test::to_array(array));
    for (const runtime::HostNumber& number : call.numbers) numbers.push_back(array_of(number));
    return test::generated_host(
        {std::string(call.name), arrays, call.sizes, numbers, static_cast<int>(results), {}});
  };
  // A host that fails does so in the middle of its results, and having written some elements.
  host.function = [&](const runtime::HostCall& call, std::span<runtime::BufferView> results) {
    const std::vector<core::Array> arrays = compute(call, results.size());
    for (size_t k = 0; k < results.size(); ++k) {
      if (host.allocations == host.fail_at) return false;
      if (results[k].rank < 0 && k % 2 == 1) continue;  // nobody asked for it
      const runtime::BufferView& argument = call.arrays[k % call.arrays.size()];
      if (test::same_values(arrays[k], test::to_array(argument))) {
        results[k] = argument;
        host.retain(argument.owner);
        continue;
      }
      results[k] = test::to_buffer(host, arrays[k], static_cast<int>(k % 4));
    }
    return true;
  };
  host.writer = [&](const runtime::HostCall& call, std::span<const runtime::BufferView> into) {
    const std::vector<core::Array> arrays = compute(call, into.size());
    for (size_t k = 0; k < into.size(); ++k) {
      if (host.allocations == host.fail_at) return false;
      EXPECT_EQ(test::to_array(into[k]).shape, arrays[k].shape);
      std::copy(arrays[k].data.begin(), arrays[k].data.end(), into[k].data);
    }
    return true;
  };
  const int64_t before = host.live;
  std::vector<runtime::BufferView> results(static_cast<size_t>(plan.result_count()));
  runtime::BorrowedContext context;
  Executed done{compiled.run(host, inputs, scalars, results, *context), {}};
  if (done.outcome == runtime::Outcome::done) {
    for (const runtime::BufferView& result : results) {
      done.results.push_back(test::to_array(result));
      host.release(result.owner);
    }
  }
  EXPECT_EQ(host.live, before) << "references were lost";
  for (const runtime::BufferView& input : inputs) host.release(input.owner);
  EXPECT_EQ(host.live, constants) << "references to arguments were lost";
  return done;
}
inline Executed run(const runtime::CompiledGraph& compiled, const test::GraphCase& test_case,
                    test::FakeHost& host, int layout, int64_t constants = 0) {
  const auto placed = place_inputs(
      test_case, [&](size_t k) { return test::to_buffer(host, test_case.inputs[k], layout); });
  return run(compiled, test_case, host, placed, constants);
}

// What the compiled program is to compute: the Graph after the passes that may change values.
inline core::Graph meaning_of(const core::Graph& graph, const Options& options) {
  core::Graph live = core::pass_dead_code(graph);
  if (options.numerics == Numerics::strict) return live;
  const core::DTypeSet native =
      options.target == "cpu" ? core::DTypeSet{} : core::DTypeSet{core::DType::f16};
  return core::pass_widen_half(core::pass_dead_code(core::pass_simplify(live)),
                               core::kHalves.without(native));
}

}  // namespace dvm::driver
