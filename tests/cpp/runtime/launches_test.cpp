// Which Programs of a call reach a target as one list, and which have to run before.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cpu/cpu_target.h"
#include "runtime/execute/context.h"
#include "runtime/fake_host.h"
#include "sim/sim_target.h"

namespace dvm::runtime {
namespace {

using test::FakeHost;
using Waits = std::vector<uint32_t>;  // of each launch of a list

// Runs lists by another target, and notes them.
class NotingTarget final : public vm::Target {
 public:
  explicit NotingTarget(const char* name)
      : target_(std::string(name) == "cpu" ? cpu::make_cpu_target()
                                           : sim::make_sim_target(*vm::find_target(name))) {}
  const vm::TargetTraits& traits() const override { return target_->traits(); }
  const vm::KernelTable* kernels() const override { return target_->kernels(); }
  const vm::FindTable* finds() const override { return target_->finds(); }
  vm::RunStatus run(std::span<const vm::Launch> launches) override {
    EXPECT_EQ(host->locked, !takes_long);
    Waits& waits = lists.emplace_back();
    for (const vm::Launch& launch : launches) waits.push_back(launch.waits_for);
    vm::RunStatus status = target_->run(launches);
    if (lists.size() == faulty) {
      status.fault = vm::Fault::index_out_of_range;
    }
    return status;
  }
  int64_t work(const vm::Program&) const override { return takes_long ? INT32_MAX : 0; }

  FakeHost* host = nullptr;
  bool takes_long = true;
  size_t faulty = 0;  // the list that has a fault, counted from 1
  std::vector<Waits> lists;

 private:
  std::unique_ptr<vm::Target> target_;
};

constexpr const char* kHead =
    "callee 0: \"f\"\n"
    "region r0 = graph v1 {\n%0 = input f32[s0]\n%1 = neg(%0) f32[s0]\nreturn %1\n}\n"
    "region r1 = graph v1 {\n%0 = input f32[s0]\n%1 = input f32[s0]\n"
    "%2 = sub(%0, %1) f32[s0]\nreturn %2\n}\n"
    "i0 = size b0, 0\n";

// factor * 1, factor * 2 ...
core::Array numbers(int64_t count, float factor) {
  core::Array array = core::make_array(core::DType::f32, {count});
  auto* x = reinterpret_cast<float*>(array.data.data());
  for (int64_t k = 0; k < count; ++k) x[k] = factor * static_cast<float>(k + 1);
  return array;
}

class Launches : public testing::TestWithParam<const char*> {
 protected:
  Launches() { target.host = &host; }
  ~Launches() override { EXPECT_EQ(host.live, 0); }

  // Of a Plan on two rows of numbers, 1, 2, 3 ... and ten times as much; its one result.
  std::vector<float> run(const std::string& body, int64_t count = 5) {
    const Plan plan = parse_plan("plan v1 {\ninput b0: f32 rank 1\ninput b1: f32 rank 1\n" +
                                 std::string(kHead) + body + "\n}\n");
    const core::Array one = numbers(count, 1), ten = numbers(count, 10);
    return run(plan, {test::to_buffer(host, one, 0), test::to_buffer(host, ten, 0)});
  }

  std::vector<float> run(const Plan& plan, const std::vector<BufferView>& inputs) {
    target.lists.clear();
    ExecutionContext& context = ExecutionContext::acquire();
    BufferView result;
    outcome = execute(plan, target, host, inputs, {}, {&result, 1}, context);
    ExecutionContext::release(context);
    for (const BufferView& input : inputs) host.release(input.owner);
    if (outcome != Outcome::done) return {};
    const core::Array array = test::to_array(result);
    host.release(result.owner);
    const auto* x = reinterpret_cast<const float*>(array.data.data());
    return {x, x + array.size()};
  }

  FakeHost host;
  NotingTarget target{GetParam()};
  Outcome outcome = Outcome::done;
};

using Values = std::vector<float>;
using Lists = std::vector<Waits>;

TEST_P(Launches, OfOneCallAreOneList) {
  const std::string body =
      "b2 = alloc f32, [i0]\nrun r0, [b0], [b2], [i0], []\n"
      "b3 = alloc f32, [i0]\nrun r0, [b1], [b3], [i0], []\n"
      "b4 = host_alloc f32, [i0]\nrun r1, [b2, b3], [b4], [i0], []\nfree b2\nfree b3\nret [b4]";
  EXPECT_EQ(run(body), (Values{9, 18, 27, 36, 45}));
  EXPECT_EQ(target.lists, (Lists{{0, 0, 0b11}})) << "the third reads what both have written";
  EXPECT_EQ(host.unlocked, 1) << "for all of them";
  target.takes_long = false;
  EXPECT_EQ(run(body), (Values{9, 18, 27, 36, 45}));
  EXPECT_EQ(target.lists, (Lists{{0}, {0}, {0}})) << "it pays for none";
}

// No memory is taken again while those who used it last have not run.
TEST_P(Launches, DoNotWaitForStrangersMemory) {
  EXPECT_EQ(run("b2 = alloc f32, [i0]\nrun r0, [b0], [b2], [i0], []\n"
                "b3 = host_alloc f32, [i0]\nrun r1, [b2, b0], [b3], [i0], []\nfree b2\n"
                "b4 = alloc f32, [i0]\nrun r0, [b1], [b4], [i0], []\n"
                "b5 = host_alloc f32, [i0]\nrun r1, [b4, b1], [b5], [i0], []\nfree b4\n"
                "b6 = host_alloc f32, [i0]\nrun r1, [b3, b5], [b6], [i0], []\nfree b3\nfree b5\n"
                "ret [b6]"),
            (Values{18, 36, 54, 72, 90}));
  EXPECT_EQ(target.lists, (Lists{{0, 0b1, 0, 0b100, 0b1010}}));
}

TEST_P(Launches, WriteBehindWhoReads) {
  EXPECT_EQ(run("b2 = host_alloc f32, [i0]\nrun r0, [b0], [b2], [i0], []\n"
                "b3 = alloc f32, [i0]\nrun r0, [b2], [b3], [i0], []\n"
                "run r1, [b2, b1], [b2], [i0], []\nfree b3\nret [b2]"),
            (Values{-11, -22, -33, -44, -55}));
  EXPECT_EQ(target.lists, (Lists{{0, 0b1, 0b10}})) << "in place, of what the second reads";
}

TEST_P(Launches, WriteBehindWhoWrites) {
  EXPECT_EQ(run("i1 = literal 0\ni2 = literal 1\ni3 = literal 2\n"
                "b2 = host_alloc f32, [i0]\nrun r0, [b0], [b2], [i0], []\n"
                "b3 = slice b2, [i2], [i2], [i3]\nb4 = slice b1, [i1], [i2], [i3]\n"
                "run r0, [b4], [b3], [i3], []\nret [b2]"),
            (Values{-1, -10, -20, -4, -5}));
  EXPECT_EQ(target.lists, (Lists{{0, 0b1}}));
}

// The host may give one array twice, or arrays that overlap.
TEST_P(Launches, ReadOneArrayTwice) {
  const Plan plan =
      parse_plan("plan v1 {\ninput b0: f32 rank 1\ninput b1: f32 rank 1\n" + std::string(kHead) +
                 "b2 = alloc f32, [i0]\nrun r0, [b0], [b2], [i0], []\n"
                 "b3 = alloc f32, [i0]\nrun r0, [b1], [b3], [i0], []\n"
                 "b4 = host_alloc f32, [i0]\nrun r1, [b2, b3], [b4], [i0], []\nfree b2\nfree "
                 "b3\nret [b4]\n}\n");
  BufferView all = test::to_buffer(host, numbers(4, 1), 0);
  all.shape[0] = 3;
  BufferView rest = all;
  rest.data += sizeof(float);
  host.retain(all.owner);
  EXPECT_EQ(run(plan, {all, rest}), (Values{1, 1, 1}));
  EXPECT_EQ(target.lists, (Lists{{0, 0, 0b11}}));
}

TEST_P(Launches, RunBeforeTheHostDoes) {
  host.function = [&](const HostCall& call, std::span<BufferView> results) {
    EXPECT_EQ(target.lists.size(), 1U);
    results[0] = test::to_buffer(host, test::to_array(call.arrays[0]), 0);
    return true;
  };
  const std::string plan =
      "b2 = host_alloc f32, [i0]\nrun r0, [b0], [b2], [i0], []\nb3 = call 0, [b2], [], [], 1, [0], "
      "[f32], [1]\n"
      "free b2\ni1 = size b3, 0\ncheck eq, i1, i0\nb4 = host_alloc f32, [i0]\n"
      "run r1, [b3, b1], [b4], [i0], []\nret [b4]";
  EXPECT_EQ(run(plan), (Values{-11, -22, -33, -44, -55}));
  EXPECT_EQ(target.lists, (Lists{{0}, {0}}));
}

TEST_P(Launches, RunBeforeWholeOps) {
  EXPECT_EQ(run("b2 = alloc f32, [i0]\nrun r0, [b0], [b2], [i0], []\n"
                "b3 = host_alloc f32, [i0]\nfold scan, add, [b2], b3, 0\nfree b2\nret [b3]"),
            (Values{-1, -3, -6, -10, -15}));
  // The op itself is a Program where there are no kernels to call.
  EXPECT_EQ(target.lists, target.kernels() != nullptr ? (Lists{{0}}) : (Lists{{0}, {0}}));
}

TEST_P(Launches, AreHandedOverWhenTheListIsFull) {
  std::string body = "b2 = host_alloc f32, [i0]\nrun r0, [b0], [b2], [i0], []\n";
  for (int b = 3; b < 43; ++b) {
    const std::string to = "b" + std::to_string(b), from = "b" + std::to_string(b - 1);
    body += to + " = host_alloc f32, [i0]\nrun r0, [" + from + "], [" + to + "], [i0], []\n";
    body += "free " + from + "\n";
  }
  EXPECT_EQ(run(body + "ret [b42]"), (Values{-1, -2, -3, -4, -5}));
  ASSERT_EQ(target.lists.size(), 3U);
  EXPECT_EQ(target.lists[0].size(), static_cast<size_t>(vm::kMaxLaunches));
  EXPECT_EQ(target.lists[0].back(), 1U << (vm::kMaxLaunches - 2));
  EXPECT_EQ(target.lists[1][0], 0U);
  EXPECT_EQ(target.lists[2].size(), 41U - 2 * vm::kMaxLaunches);
}

// Much memory is not kept from those who come next.
TEST_P(Launches, AreHandedOverWithMuchMemory) {
  constexpr int64_t kCount = 200000;
  const Values result =
      run("b2 = alloc f32, [i0]\nrun r0, [b0], [b2], [i0], []\n"
          "b3 = alloc f32, [i0]\nrun r0, [b2], [b3], [i0], []\nfree b2\n"
          "b4 = alloc f32, [i0]\nrun r0, [b3], [b4], [i0], []\nfree b3\n"
          "b5 = host_alloc f32, [i0]\nrun r0, [b4], [b5], [i0], []\nfree b4\nret [b5]",
          kCount);
  EXPECT_EQ(result.back(), static_cast<float>(kCount));
  EXPECT_EQ(target.lists, (Lists{{0, 0b1, 0b10}, {0}}));
}

// Programs lie in a log that starts over, where one that is held may be the first.
TEST_P(Launches, AreHandedOverBeforeTheirPrograms) {
  std::string body = "plan v1 {\ninput b0: f32 rank 1\ninput b1: f32 rank 1\n" +
                     std::string(kHead) +
                     "i1 = size b1, 0\ni2 = literal 0\ni3 = literal 1\n"
                     "b2 = host_alloc f32, [i0]\nrun r0, [b0], [b2], [i0], []\n"
                     "b3 = alloc f32, [i1]\nrun r0, [b1], [b3], [i1], []\n";
  for (int k = 0; k < 12; ++k) {
    const std::string size = "i" + std::to_string(k + 4), before = "i" + std::to_string(k + 3);
    const std::string from = "b" + std::to_string(2 * k + 4), to = "b" + std::to_string(2 * k + 5);
    body += size + " = sub " + (k == 0 ? "i1" : before) + ", i3\n";
    body += from + " = slice b1, [i2], [i3], [" + size + "]\n";
    body += to + " = slice b3, [i2], [i3], [" + size + "]\n";
    body += "run r0, [" + from + "], [" + to + "], [" + size + "], []\n";
  }
  const Plan plan = parse_plan(body + "free b3\nret [b2]\n}\n");
  const core::Array five = numbers(5, 1);
  for (int64_t count = 20; count < 6000; count += 13) {
    const Values result =
        run(plan, {test::to_buffer(host, five, 0), test::to_buffer(host, numbers(count, 1), 0)});
    ASSERT_EQ(result, (Values{-1, -2, -3, -4, -5})) << count;
  }
}

TEST_P(Launches, OfARecordAreOneList) {
  const Plan plan =
      parse_plan("plan v1 {\ninput b0: f32 rank 1\ninput b1: f32 rank 1\n" + std::string(kHead) +
                 "b2 = host_alloc f32, [i0]\nrun r0, [b0], [b2], [i0], []\n"
                 "b3 = host_alloc f32, [i0]\nrun r0, [b2], [b3], [i0], []\n"
                 "ret [b3]\n}\n");
  const core::Array three = numbers(3, 1);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(run(plan, {test::to_buffer(host, three, 0), test::to_buffer(host, three, 0)}),
              (Values{1, 2, 3}));
    EXPECT_EQ(target.lists, (Lists{{0, 0b1}})) << "round " << round;
  }
}

TEST_P(Launches, FaultsEndTheCall) {
  for (const bool takes_long : {true, false}) {
    target.takes_long = takes_long;
    for (size_t faulty = 1; faulty <= (takes_long ? 1U : 2U); ++faulty) {
      target.faulty = faulty;
      run("b2 = alloc f32, [i0]\nrun r0, [b0], [b2], [i0], []\n"
          "b3 = host_alloc f32, [i0]\nrun r0, [b2], [b3], [i0], []\nfree b2\nret [b3]");
      EXPECT_EQ(outcome, Outcome::check_failed);
      EXPECT_EQ(target.lists.size(), faulty) << "nothing runs behind a fault";
      EXPECT_EQ(host.live, 0);
    }
  }
}

TEST_P(Launches, OfACallThatIsGivenUpNeverRun) {
  host.fail_at = host.allocations + 3;
  run("b2 = host_alloc f32, [i0]\nrun r0, [b0], [b2], [i0], []\n"
      "b3 = host_alloc f32, [i0]\nrun r0, [b2], [b3], [i0], []\nfree b2\nret [b3]");
  EXPECT_EQ(outcome, Outcome::host_error);
  EXPECT_EQ(target.lists, Lists{});
}

INSTANTIATE_TEST_SUITE_P(Targets, Launches, testing::Values("cpu", "ascend910b1"));

}  // namespace
}  // namespace dvm::runtime
