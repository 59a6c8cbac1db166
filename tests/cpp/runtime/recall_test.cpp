// Calls by record: the same results as the first call of those sizes, whatever came between.
#include "runtime/execute/recall.h"

#include <gtest/gtest.h>

#include <thread>

#include "cpu/cpu_target.h"
#include "runtime/execute/context.h"
#include "runtime/fake_host.h"
#include "runtime/memory/buffer_pool.h"
#include "runtime/memory/frozen_memory.h"

namespace dvm::runtime {
namespace {

using test::FakeHost;

constexpr const char* kRecalled =
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
    std::vector<uint64_t> words;
    const RecallKey key(words, plan_, *target_, frozen_memory(), {&input, 1}, {});
    const bool recorded = context.state().recalls.find(key, context.state().memo) != nullptr;
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

  const Plan plan_ = parse_plan(kRecalled);
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
  const Plan plan = parse_plan(kRecalled);
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

// Temporaries of all kinds: of Regions, of whole arrays, workspaces of sums in parts, a number.
constexpr const char* kTemporaries =
    "plan v1 {\ninput b0: f32 rank 2\ninput b1: i64 rank 1\n"
    "region r0 = graph v1 {\n%0 = input f32[s0, s1]\n%1 = neg(%0) f32[s0, s1]\nreturn %1\n}\n"
    "region r1 = graph v1 {\n%0 = input f32[s0, s1]\n%1 = sum(%0) f32[1, 1] {axes = [0, 1]}\n"
    "return %1\n}\n"
    "region r2 = graph v1 {\n%0 = input f32[s0, s1]\n%1 = input f32[1, 1]\n%2 = input f32[]\n"
    "%3 = broadcast(%1) f32[s0, s1]\n%4 = broadcast(%2) f32[s0, s1]\n%5 = add(%0, %3) f32[s0, s1]\n"
    "%6 = mul(%5, %4) f32[s0, s1]\nreturn %6\n}\n"
    "i0 = size b0, 0\ni1 = size b0, 1\ni2 = size b1, 0\ni3 = literal 1\n"
    "b2 = alloc f32, [i0, i1]\nrun r0, [b0], [b2], [i0, i1], []\n"
    "b3 = host_alloc f32, [i2, i1]\nwhole gather, [b2, b1], b3, 0\nfree b2\n"
    "b4 = alloc f32, [i3, i3]\nrun r1, [b3], [b4], [i2, i1], []\n"
    "b5 = alloc f32, []\nstore b5, i2\n"
    "b6 = alloc f32, [i2, i1]\nrun r0, [b3], [b6], [i2, i1], []\nfree b3\n"
    "b7 = host_alloc f32, [i2, i1]\nrun r2, [b6, b4, b5], [b7], [i2, i1], []\n"
    "free b4\nfree b5\nfree b6\nret [b7]\n}\n";

class Temporaries : public testing::Test {
 protected:
  struct Inputs {
    BufferView views[2];
  };
  Inputs inputs(FakeHost& host, int64_t rows, int64_t columns, int64_t picked, int64_t highest) {
    core::Array x = core::make_array(core::DType::f32, {rows, columns});
    size_t place = 0;
    for (float& element : core::elements<float>(x)) element = static_cast<float>(place++ % 7);
    core::Array at = core::make_array(core::DType::i64, {picked});
    int64_t index = highest;
    for (int64_t& element : core::elements<int64_t>(at)) element = index++ % rows;
    core::elements<int64_t>(at)[0] = highest;
    return {{test::to_buffer(host, x, 0), test::to_buffer(host, at, 0)}};
  }
  Outcome run(FakeHost& host, const Inputs& given, std::vector<float>& elements) {
    BufferView result;
    ExecutionContext& context = ExecutionContext::acquire();
    const Outcome outcome = execute(plan_, *target_, host, given.views, {}, {&result, 1}, context);
    ExecutionContext::release(context);
    elements.clear();
    if (outcome == Outcome::done) {
      const core::Array array = test::to_array(result);
      const auto all = core::elements<float>(array);
      elements.assign(all.begin(), all.end());
      host.release(result.owner);
    }
    return outcome;
  }
  // Of the same call, the first and again; the numbers of large blocks that they took.
  void expect_same(int64_t rows, int64_t columns, int64_t picked, int64_t blocks) {
    FakeHost host;
    const Inputs given = inputs(host, rows, columns, picked, rows - 1);
    std::vector<float> first, again;
    ASSERT_EQ(run(host, given, first), Outcome::done);
    for (int time = 0; time < 3; ++time) {
      const int64_t before = buffer_pool().stats().taken;
      ASSERT_EQ(run(host, given, again), Outcome::done);
      EXPECT_EQ(buffer_pool().stats().taken - before, blocks);
      EXPECT_EQ(first, again);
    }
    for (const BufferView& view : given.views) host.release(view.owner);
    EXPECT_EQ(host.live, 0);
  }

  const Plan plan_ = parse_plan(kTemporaries);
  const std::unique_ptr<vm::Target> target_ = cpu::make_cpu_target();
};

TEST_F(Temporaries, OfACallMetBeforeAreOneBlock) {
  expect_same(5, 3, 4, 0);
  expect_same(600, 500, 1000, 1);
  expect_same(5, 3, 4, 0);
  expect_same(2000, 1000, 1500, 1);
}

TEST_F(Temporaries, OfACallMetBeforeThatIsGivenUpAreLetGo) {
  FakeHost host;
  const Inputs good = inputs(host, 600, 1000, 500, 599), bad = inputs(host, 600, 1000, 500, 600);
  std::vector<float> first, again;
  const int64_t used = buffer_pool().stats().used_bytes;
  for (int time = 0; time < 3; ++time) {
    ASSERT_EQ(run(host, good, time == 0 ? first : again), Outcome::done);
    EXPECT_EQ(run(host, bad, again), Outcome::check_failed) << "an index is out of range";
    EXPECT_EQ(buffer_pool().stats().used_bytes, used);
    ASSERT_EQ(run(host, good, again), Outcome::done);
    EXPECT_EQ(first, again);
  }
  for (const Inputs& given : {good, bad}) {
    for (const BufferView& view : given.views) host.release(view.owner);
  }
}

TEST_F(Temporaries, OfTwoThreadsAreApart) {
  const auto calls = [&](int64_t columns) {
    FakeHost host;
    const Inputs given = inputs(host, 40, columns, 80, 39);
    std::vector<float> first, again;
    ASSERT_EQ(run(host, given, first), Outcome::done);
    for (int time = 0; time < 300; ++time) {
      ASSERT_EQ(run(host, given, again), Outcome::done);
      ASSERT_EQ(first, again);
    }
    for (const BufferView& view : given.views) host.release(view.owner);
  };
  std::thread other([&] { calls(100); });
  calls(101);
  other.join();
}

}  // namespace
}  // namespace dvm::runtime
