// Calls by record: the same results as the first call of those sizes, whatever came between.
#include "runtime/execute/recall.h"

#include <gtest/gtest.h>

#include "cpu/cpu_target.h"
#include "runtime/execute/context.h"
#include "runtime/fake_host.h"
#include "runtime/memory/frozen_memory.h"

namespace dvm::runtime {
namespace {

using test::FakeHost;

constexpr const char* kPlan =
    "plan v1 {\ninput b0: f32 rank 2\n"
    "region r0 = graph v1 {\n%0 = input f32[s0, s1]\n%1 = neg(%0) f32[s0, s1]\nreturn %1\n}\n"
    "i0 = size b0, 0\ni1 = size b0, 1\ni2 = literal 9\ncheck le, i1, i2\n"
    "b1 = host_alloc f32, [i0, i1]\nrun r0, [b0], [b1], [i0, i1], []\n"
    "b2 = transpose b1, [1, 0]\nret [b2, b0, b1]\n}\n";

struct Call {
  std::vector<int64_t> shape;
  bool transposed = false, check_fails = false;
};

class Recall : public testing::Test {
 protected:
  // Whether there is a record afterwards.
  bool run(const Call& call, float first) {
    core::Array array = core::make_array(core::DType::f32, call.shape);
    auto* x = reinterpret_cast<float*>(array.data.data());
    for (int64_t i = 0; i < array.size(); ++i) x[i] = first + static_cast<float>(i);
    BufferView input = test::to_buffer(host, array, 0);
    if (call.transposed) {
      std::swap(input.shape[0], input.shape[1]);
      std::swap(input.strides[0], input.strides[1]);
    }
    ExecutionContext& context = ExecutionContext::acquire();
    BufferView results[3];
    const Outcome outcome = execute(plan_, *target_, host, {&input, 1}, {}, results, context);
    const RecallKey key(plan_, *target_, frozen_memory(), {&input, 1}, {});
    const bool recorded = context.state().recalls.find(key) != nullptr;
    ExecutionContext::release(context);
    if (call.check_fails) {
      EXPECT_EQ(outcome, Outcome::check_failed);
    } else {
      expect_results(outcome, input, results);
    }
    host.release(input.owner);
    EXPECT_EQ(host.live, 0);
    return recorded;
  }

  FakeHost host;

 private:
  void expect_results(Outcome outcome, const BufferView& input, const BufferView* results) {
    ASSERT_EQ(outcome, Outcome::done);
    EXPECT_EQ(results[1].data, input.data);
    EXPECT_EQ(results[0].owner, results[2].owner);
    for (int64_t i = 0; i < input.shape[0]; ++i) {
      for (int64_t j = 0; j < input.shape[1]; ++j) {
        const float x = at(input, i, j);
        EXPECT_EQ(at(results[0], j, i), -x);
        EXPECT_EQ(at(results[1], i, j), x);
        EXPECT_EQ(at(results[2], i, j), -x);
      }
    }
    for (int k = 0; k < 3; ++k) host.release(results[k].owner);
  }
  static float at(const BufferView& view, int64_t i, int64_t j) {
    EXPECT_LT(i, view.shape[0]);
    EXPECT_LT(j, view.shape[1]);
    float value;
    std::memcpy(&value, view.data + i * view.strides[0] + j * view.strides[1], sizeof(value));
    return value;
  }

  const Plan plan_ = parse_plan(kPlan);
  const std::unique_ptr<vm::Target> target_ = cpu::make_cpu_target();
};

TEST_F(Recall, GivesTheSameForTheSameSizes) {
  const Call calls[] = {{{2, 3}}, {{3, 2}}, {{3, 2}, true}, {{4, 9}}};
  for (int round = 0; round < 3; ++round) {
    for (const Call& call : calls) EXPECT_TRUE(run(call, static_cast<float>(10 * round + 1)));
  }
}

TEST_F(Recall, OnlyOfCallsThatWereDone) {
  for (int round = 0; round < 3; ++round) {
    EXPECT_FALSE(run({{2, 10}, false, true}, 1));
    EXPECT_FALSE(run({{0, 3}}, 1)) << "what it leaves out is looked at each time";
  }
}

TEST_F(Recall, LastsAsLongAsItsPrograms) {
  EXPECT_TRUE(run({{2, 3}}, 1));
  for (int64_t rows = 1; rows < 600; ++rows) run({{rows, 1 + rows % 9}}, 2);
  EXPECT_TRUE(run({{2, 3}}, 3));
  EXPECT_TRUE(run({{2, 3}}, 4));
}

TEST_F(Recall, ReleasesWhatItAllocatedWhenTheHostFails) {
  EXPECT_TRUE(run({{2, 3}}, 1));
  const Plan plan = parse_plan(kPlan);
  const auto target = cpu::make_cpu_target();
  for (int round = 0; round < 2; ++round) {
    core::Array array = core::make_array(core::DType::f32, {2, 3});
    const BufferView input = test::to_buffer(host, array, 0);
    ExecutionContext& context = ExecutionContext::acquire();
    BufferView results[3];
    host.fail_at = round == 0 ? -1 : host.allocations;
    const Outcome outcome = execute(plan, *target, host, {&input, 1}, {}, results, context);
    ExecutionContext::release(context);
    EXPECT_EQ(outcome, round == 0 ? Outcome::done : Outcome::host_error);
    for (const BufferView& result : results) {
      if (round == 0) host.release(result.owner);
    }
    host.release(input.owner);
    EXPECT_EQ(host.live, 0);
  }
}

}  // namespace
}  // namespace dvm::runtime
