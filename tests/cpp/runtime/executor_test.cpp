// Instructions one by one, and what happens when a call does not go well.
#include "runtime/execute/executor.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "cpu/cpu_target.h"
#include "runtime/fake_host.h"
#include "runtime/memory/buffer_pool.h"
#include "runtime/memory/temporaries.h"

namespace dvm::runtime {
namespace {

using test::FakeHost;

vm::Target& cpu() {
  static const std::unique_ptr<vm::Target> target = cpu::make_cpu_target();
  return *target;
}

core::Array range(std::vector<int64_t> shape) {
  core::Array array = core::make_array(core::DType::f32, std::move(shape));
  auto* x = reinterpret_cast<float*>(array.data.data());
  for (int64_t i = 0; i < array.size(); ++i) x[i] = static_cast<float>(i);
  return array;
}

std::vector<float> floats(const BufferView& view) {
  const core::Array array = test::to_array(view);
  const auto* x = reinterpret_cast<const float*>(array.data.data());
  return {x, x + array.size()};
}

Outcome run(const Plan& plan, FakeHost& host, std::span<const BufferView> inputs,
            std::span<BufferView> results, vm::Target& target = cpu()) {
  ExecutionContext& context = ExecutionContext::acquire();
  struct Release {
    ExecutionContext& context;
    ~Release() { ExecutionContext::release(context); }
  } release{context};
  return execute(plan, target, host, inputs, {}, results, context);
}

// `body` on one f32 argument of that shape; the argument is released again.
Outcome run_body(const std::string& body, std::vector<int64_t> shape) {
  const Plan plan = parse_plan("plan v1 {\n  input b0: f32 rank " + std::to_string(shape.size()) +
                               "\n" + body + "\n  ret []\n}\n");
  FakeHost host;
  host.function = [](const HostCall&, std::span<BufferView>) { return false; };
  BufferView input = test::to_buffer(host, range(std::move(shape)), 0);
  const Outcome outcome = run(plan, host, {&input, 1}, {});
  EXPECT_EQ(host.live, 1);
  host.release(input.owner);
  return outcome;
}

struct SizeCase {
  const char *op, *a, *b, *result;  // result "fails" for a failed check
};
class Sizes : public testing::TestWithParam<SizeCase> {};

TEST_P(Sizes, AreCheckedArithmetic) {
  const auto& [op, a, b, result] = GetParam();
  const std::string head =
      std::string("i0 = literal ") + a + "\ni1 = literal " + b + "\ni2 = " + op + " i0, i1\n";
  if (std::string(result) == "fails") {
    EXPECT_EQ(run_body(head, {}), Outcome::check_failed);
    return;
  }
  const std::string tail = std::string("i3 = literal ") + result + "\n";
  EXPECT_EQ(run_body(head + tail + "check eq, i2, i3", {}), Outcome::done);
  EXPECT_EQ(run_body(head + tail + "check ne, i2, i3", {}), Outcome::check_failed);
}

constexpr const char *kMax = "9223372036854775807", *kMin = "-9223372036854775808";
INSTANTIATE_TEST_SUITE_P(
    Operations, Sizes,
    testing::Values(SizeCase{"add", "2", "3", "5"}, SizeCase{"add", kMax, "1", "fails"},
                    SizeCase{"sub", "2", "3", "-1"}, SizeCase{"sub", kMin, "1", "fails"},
                    SizeCase{"mul", "-4", "3", "-12"}, SizeCase{"mul", kMax, "2", "fails"},
                    SizeCase{"floordiv", "7", "2", "3"}, SizeCase{"floordiv", "-7", "2", "-4"},
                    SizeCase{"floordiv", "7", "-2", "-4"}, SizeCase{"floordiv", "7", "0", "fails"},
                    SizeCase{"floordiv", kMin, "-1", "fails"}, SizeCase{"mod", "-7", "2", "1"},
                    SizeCase{"mod", "7", "-2", "-1"}, SizeCase{"mod", "7", "0", "fails"},
                    SizeCase{"mod", kMin, "-1", "fails"}, SizeCase{"max", "-2", "3", "3"},
                    SizeCase{"min", "-2", "3", "-2"}, SizeCase{"bcast", "1", "7", "7"},
                    SizeCase{"bcast", "7", "1", "7"}, SizeCase{"bcast", "7", "7", "7"},
                    SizeCase{"bcast", "0", "1", "0"}, SizeCase{"bcast", "2", "3", "fails"},
                    SizeCase{"bcast", "0", "2", "fails"}));

struct ViewCase {
  const char* body;
  std::vector<float> expected;  // {-1}: a failed check
};
class Views : public testing::TestWithParam<ViewCase> {};

// The argument is [[0, 1, 2], [3, 4, 5]].
TEST_P(Views, AreMetadata) {
  const auto& [body, expected] = GetParam();
  const Plan plan = parse_plan(
      "plan v1 {\ninput b0: f32 rank 2\n"
      "i0 = literal 0\ni1 = literal 1\ni2 = literal 2\ni3 = literal 3\ni4 = literal 6\n"
      "i5 = literal -1\ni6 = literal -2\ni7 = literal 9223372036854775807\n" +
      std::string(body) + "\n}\n");
  FakeHost host;
  const BufferView input = test::to_buffer(host, range({2, 3}), 0);
  BufferView result;
  const Outcome outcome = run(plan, host, {&input, 1}, {&result, 1});
  if (expected == std::vector<float>{-1}) {
    EXPECT_EQ(outcome, Outcome::check_failed);
  } else {
    ASSERT_EQ(outcome, Outcome::done);
    EXPECT_EQ(floats(result), expected);
    EXPECT_EQ(result.owner, input.owner);
    host.release(result.owner);
  }
  host.release(input.owner);
  EXPECT_EQ(host.live, 0);
}

TEST(Reshaped, CopiesWhereStridesAllowNoView) {
  const Plan plan = parse_plan(
      "plan v1 {\ninput b0: f32 rank 2\ni0 = literal 6\n"
      "b1 = transpose b0, [1, 0]\nb2 = reshaped b1, [i0]\nret [b2]\n}\n");
  FakeHost host;
  const BufferView input = test::to_buffer(host, range({2, 3}), 0);
  BufferView result;
  ASSERT_EQ(run(plan, host, {&input, 1}, {&result, 1}), Outcome::done);
  EXPECT_EQ(floats(result), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_NE(result.owner, input.owner);
  host.release(result.owner);
  host.release(input.owner);
  EXPECT_EQ(host.live, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Instructions, Views,
    testing::Values(
        ViewCase{"ret [b0]", {0, 1, 2, 3, 4, 5}},
        ViewCase{"b1 = transpose b0, [1, 0]\nret [b1]", {0, 3, 1, 4, 2, 5}},
        ViewCase{"b1 = reshape b0, [i4]\nret [b1]", {0, 1, 2, 3, 4, 5}},
        ViewCase{"b1 = reshape b0, [i3]\nret [b1]", {-1}},
        ViewCase{"b1 = reshape b0, [i6, i5, i3]\nret [b1]", {-1}},
        ViewCase{"b1 = reshape b0, [i7, i7]\nret [b1]", {-1}},
        ViewCase{"b1 = transpose b0, [1, 0]\nb2 = reshape b1, [i4]\nret [b2]", {-1}},
        ViewCase{"b1 = reshaped b0, [i3]\nret [b1]", {-1}},
        ViewCase{"b1 = slice b0, [i0, i1], [i1, i1], [i2, i2]\nret [b1]", {1, 2, 4, 5}},
        ViewCase{"b1 = slice b0, [i1, i2], [i5, i6], [i2, i2]\nret [b1]", {5, 3, 2, 0}},
        ViewCase{"b1 = slice b0, [i0, i1], [i1, i1], [i2, i3]\nret [b1]", {-1}},
        ViewCase{"b1 = slice b0, [i0, i5], [i1, i1], [i2, i1]\nret [b1]", {-1}},
        ViewCase{"b1 = slice b0, [i0, i1], [i1, i7], [i2, i3]\nret [b1]", {-1}},
        ViewCase{"b1 = slice b0, [i0, i3], [i1, i1], [i2, i0]\nret [b1]", {}},
        ViewCase{"b1 = slice b0, [i0, i0], [i1, i1], [i2, i5]\nret [b1]", {-1}},
        // A reshape needs no copy where the axes it joins are contiguous among themselves.
        ViewCase{"b1 = transpose b0, [1, 0]\nb2 = reshape b1, [i3, i1, i2]\nret [b2]",
                 {0, 3, 1, 4, 2, 5}},
        ViewCase{"b1 = slice b0, [i0, i1], [i1, i1], [i2, i2]\n"
                 "b2 = reshape b1, [i1, i2, i2]\nret [b2]",
                 {1, 2, 4, 5}},
        ViewCase{"b1 = slice b0, [i1, i0], [i1, i1], [i1, i3]\nb2 = reshape b1, [i3]\nret [b2]",
                 {3, 4, 5}},
        ViewCase{"b1 = slice b0, [i0, i1], [i1, i1], [i2, i1]\nb2 = reshape b1, [i2]\nret [b2]",
                 {1, 4}}));

TEST(Executor, AllocationsAreBounded) {
  const std::string sizes = "i0 = literal 4611686018427387904\ni1 = literal -1\ni2 = literal 0\n";
  for (const char* alloc : {"alloc", "host_alloc"}) {
    const std::string b1 = "b1 = " + std::string(alloc) + " f32, ";
    EXPECT_EQ(run_body(sizes + b1 + "[i0]", {}), Outcome::check_failed);
    EXPECT_EQ(run_body(sizes + b1 + "[i0, i0]", {}), Outcome::check_failed);
    EXPECT_EQ(run_body(sizes + b1 + "[i1]", {}), Outcome::check_failed);
    EXPECT_EQ(run_body(sizes + b1 + "[i1, i2]", {}), Outcome::check_failed);
    EXPECT_EQ(run_body(sizes + b1 + "[i2]", {}), Outcome::done);
  }
#if !defined(__SANITIZE_ADDRESS__)  // whose allocator ends the process instead
  // More memory than there is.
  EXPECT_EQ(run_body("i0 = literal 1099511627776000\nb1 = alloc f32, [i0]", {}),
            Outcome::check_failed);
#endif
}

constexpr const char* kPlanWithCall =
    "plan v1 {\ninput b0: f32 rank 1\ncallee 0: \"f\"\n"
    "region r0 = graph v1 {\n%0 = input f32[s0]\n%1 = neg(%0) f32[s0]\nreturn %1\n}\n"
    "i0 = size b0, 0\nb1 = host_alloc f32, [i0]\nrun r0, [b0], [b1], [i0], []\n"
    "b2 = call 0, [b1], [], [], 1, [0], [f32], [1]\nfree b1\ni1 = size b2, 0\ncheck eq, i1, i0\n"
    "b3 = host_alloc f32, [i0]\nrun r0, [b2], [b3], [i0], []\nret [b3, b2, b3]\n}\n";

TEST(Executor, EveryResultCarriesAReference) {
  const Plan plan = parse_plan(kPlanWithCall);
  FakeHost host;
  host.function = [&](const HostCall& call, std::span<BufferView> results) {
    EXPECT_EQ(call.callee, 0);
    results[0] = test::to_buffer(host, test::to_array(call.arrays[0]), 0);
    return true;
  };
  const BufferView input = test::to_buffer(host, range({3}), 0);
  BufferView results[3];
  ASSERT_EQ(run(plan, host, {&input, 1}, results), Outcome::done);
  EXPECT_EQ(host.live, 3);
  EXPECT_EQ(floats(results[0]), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(floats(results[1]), (std::vector<float>{-0.0f, -1, -2}));
  for (const BufferView& result : results) host.release(result.owner);
  host.release(input.owner);
  EXPECT_EQ(host.live, 0);
}

// What is written over is dense and in no other array, whatever the function gives.
TEST(Executor, NewArraysOfCallsAreWrittenOver) {
  const Plan plan = parse_plan(
      "plan v1 {\ninput b0: f32 rank 2\ncallee 0: \"f\"\n"
      "region r0 = graph v1 {\n%0 = input f32[s0, s1]\n%1 = neg(%0) f32[s0, s1]\n"
      "return %1\n}\ni0 = size b0, 0\ni1 = size b0, 1\n"
      "b1, b2 = call_fresh 0, [b0], [], [], 2, [0, 1], [f32, f32], [2, 2]\n"
      "run r0, [b1], [b1], [i0, i1], []\nret [b1, b2, b0]\n}\n");
  const std::vector<float> given{0, 1, 2, 3, 4, 5}, negated{-0.0f, -1, -2, -3, -4, -5};
  for (int layout = 0; layout < 4; ++layout) {
    for (const bool gives_argument : {false, true}) {
      FakeHost host;
      const BufferView input = test::to_buffer(host, range({2, 3}), layout);
      host.function = [&](const HostCall& call, std::span<BufferView> made) {
        made[0] = call.arrays[0];
        if (!gives_argument) made[0] = test::to_buffer(host, range({2, 3}), layout);
        made[1] = made[0];
        if (gives_argument) host.retain(made[0].owner);
        host.retain(made[0].owner);
        return true;
      };
      BufferView results[3];
      ASSERT_EQ(run(plan, host, {&input, 1}, results), Outcome::done);
      EXPECT_EQ(floats(results[0]), negated);
      EXPECT_EQ(floats(results[1]), given);
      EXPECT_EQ(floats(results[2]), given);
      for (const BufferView& result : results) host.release(result.owner);
      host.release(input.owner);
      EXPECT_EQ(host.live, 0);
    }
  }
}

TEST(Executor, ResultsOfAnotherTypeAreGivenUp) {
  const Plan plan = parse_plan(kPlanWithCall);
  for (int wrong = 0; wrong < 3; ++wrong) {
    FakeHost host;
    host.function = [&](const HostCall&, std::span<BufferView> given) {
      core::Array array =
          range(wrong == 0 ? std::vector<int64_t>{3, 1} : std::vector<int64_t>{wrong == 1 ? 4 : 3});
      if (wrong == 2) array = core::make_array(core::DType::i32, {3});
      given[0] = test::to_buffer(host, array, 0);
      return true;
    };
    const BufferView input = test::to_buffer(host, range({3}), 0);
    BufferView results[3];
    EXPECT_EQ(run(plan, host, {&input, 1}, results), Outcome::check_failed);
    for (const BufferView& result : results) EXPECT_EQ(result.owner, nullptr);
    EXPECT_EQ(host.live, 1);
    host.release(input.owner);
  }
}

// The host runs the same Plan again from within its call, to some depth.
TEST(Executor, HostCallsMayEnterPlans) {
  const Plan plan = parse_plan(kPlanWithCall);
  FakeHost host;
  int depth = 0;
  host.function = [&](const HostCall& call, std::span<BufferView> given) {
    if (++depth == 5) {
      given[0] = test::to_buffer(host, test::to_array(call.arrays[0]), 0);
      return true;
    }
    BufferView inner[3];
    const BufferView argument = test::to_buffer(host, test::to_array(call.arrays[0]), 0);
    EXPECT_EQ(run(plan, host, {&argument, 1}, inner), Outcome::done);
    host.release(argument.owner);
    host.release(inner[1].owner);
    host.release(inner[2].owner);
    given[0] = inner[0];
    return true;
  };
  const BufferView input = test::to_buffer(host, range({3}), 0);
  BufferView results[3];
  ASSERT_EQ(run(plan, host, {&input, 1}, results), Outcome::done);
  EXPECT_EQ(depth, 5);
  EXPECT_EQ(floats(results[0]), (std::vector<float>{0, 1, 2}));
  for (const BufferView& result : results) host.release(result.owner);
  host.release(input.owner);
  EXPECT_EQ(host.live, 0);
}

class ThrowingTarget final : public vm::Target {
 public:
  const vm::TargetTraits& traits() const override { return cpu().traits(); }
  vm::RunStatus run(std::span<const vm::Launch>) override {
    core::fail(core::ErrorCode::sim_fault, "on purpose");
  }
};

TEST(Executor, ExceptionsReleaseEverything) {
  const Plan plan = parse_plan(kPlanWithCall);
  FakeHost host;
  ThrowingTarget target;
  const BufferView input = test::to_buffer(host, range({3}), 0);
  BufferView results[3];
  EXPECT_THROW(run(plan, host, {&input, 1}, results, target), core::Error);
  EXPECT_EQ(host.live, 1);
  host.release(input.owner);
}

TEST(Executor, TimesAddUp) {
  const Plan plan = parse_plan(kPlanWithCall);
  FakeHost host;
  host.function = [&](const HostCall& call, std::span<BufferView> given) {
    given[0] = test::to_buffer(host, test::to_array(call.arrays[0]), 0);
    return true;
  };
  const BufferView input = test::to_buffer(host, range({3}), 0);
  BufferView results[3];
  CallTimes times;
  ExecutionContext& context = ExecutionContext::acquire();
  context.times = &times;
  ASSERT_EQ(execute(plan, cpu(), host, {&input, 1}, {}, results, context), Outcome::done);
  ExecutionContext::release(context);
  EXPECT_EQ(context.times, nullptr) << "timing must not stay on for the next call";
  EXPECT_EQ(times.regions, 2);
  for (int64_t phase : {times.plan, times.bind, times.tile, times.encode, times.run})
    EXPECT_GT(phase, 0);
  for (const BufferView& result : results) host.release(result.owner);
  host.release(input.owner);
}

// As calls of greenlets do, which may go on in any order.
TEST(ExecutionContext, ContextsEndInAnyOrder) {
  for (int first = 0; first < 3; ++first) {
    ExecutionContext* taken[3];
    for (ExecutionContext*& context : taken) context = &ExecutionContext::acquire();
    EXPECT_NE(taken[0], taken[1]);
    EXPECT_NE(taken[0], taken[2]);
    EXPECT_NE(taken[1], taken[2]);
    for (int k = 0; k < 3; ++k) ExecutionContext::release(*taken[(first + k) % 3]);
    const ExecutionContext& last = ExecutionContext::acquire();
    EXPECT_EQ(&last, taken[(first + 2) % 3]) << "the one that was used last is warm";
    ExecutionContext::release(const_cast<ExecutionContext&>(last));
  }
}

TEST(BlockCache, GivesBackWhatItTook) {
  BlockCache cache;
  std::byte* first = cache.take(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  cache.give(first, 1000);
  EXPECT_EQ(cache.take(961), first) << "a block serves every size of its class";
  cache.give(first, 961);
  std::byte* smaller = cache.take(960);
  EXPECT_NE(smaller, first) << "no more than an eighth of a block is left over";
  cache.give(smaller, 960);
  const int64_t used = buffer_pool().stats().used_bytes;
  std::byte* large = cache.take(kLeastPooled);
  EXPECT_GE(buffer_pool().stats().used_bytes, used + kLeastPooled) << "large ones are pooled";
  cache.give(large, kLeastPooled);
  EXPECT_EQ(buffer_pool().stats().used_bytes, used);
  std::byte* empty = cache.take(0);
  EXPECT_NE(empty, nullptr);
  cache.give(empty, 0);
}

struct SizesOfRun {
  const char *input, *result, *dims;
};
// NOLINTNEXTLINE(readability-identifier-naming): the name that googletest calls
void PrintTo(const SizesOfRun& of, std::ostream* out) { *out << of.dims; }

class RegionSizes : public testing::TestWithParam<SizesOfRun> {};

// What the Kernel counts by may be any register, but has to be what its buffers have.
TEST_P(RegionSizes, AreThoseOfItsBuffers) {
  const auto& [input, result, dims] = GetParam();
  const Plan plan = parse_plan(
      std::string(
          "plan v1 {\n  input b0: f32 rank 1\n  region r0 = graph v1 {\n"
          "    %0 = input f32[a]\n    %1 = input f32[b]\n"
          "    %2 = broadcast(%0) f32[bcast(a, b)]\n    %3 = broadcast(%1) f32[bcast(a, b)]\n"
          "    %4 = add(%2, %3) f32[bcast(a, b)]\n    return %4\n  }\n"
          "i0 = literal 16\ni1 = literal 64\ni2 = literal 1\ni3 = literal -16\n"
          "i4 = literal 0\nb1 = host_alloc f32, [i2]\n"
          "undefined b1\nb2 = slice b0, [i4], [i2], [") +
      input + "]\nb3 = host_alloc f32, [" + result + "]\nrun r0, [b2, b1], [b3], [" + dims +
      "], []\nret [b3]\n}\n");
  FakeHost host;
  const BufferView given = test::to_buffer(host, range({64}), 0);
  BufferView made;
  EXPECT_EQ(run(plan, host, {&given, 1}, {&made, 1}), Outcome::check_failed) << dims;
  host.release(given.owner);
  EXPECT_EQ(host.live, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Mismatches, RegionSizes,
    testing::Values(SizesOfRun{"i0", "i0", "i1, i2, i1"}, SizesOfRun{"i0", "i0", "i0, i2, i1"},
                    SizesOfRun{"i0", "i0", "i1, i2, i0"}, SizesOfRun{"i0", "i0", "i0, i0, i0"},
                    SizesOfRun{"i0", "i1", "i0, i2, i0"}, SizesOfRun{"i0", "i1", "i0, i2, i1"},
                    SizesOfRun{"i0", "i0", "i3, i2, i3"}, SizesOfRun{"i0", "i0", "i4, i2, i4"}));

}  // namespace
}  // namespace dvm::runtime
