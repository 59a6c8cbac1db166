// Products and the steps behind them on groups of simulated AI Cores: the cube leaves tiles, vector
// cores go on with them. The same elements as the reference, flags in order, and in time side by
// side.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "core/ops/scalar_ops.h"
#include "sim/sim_target.h"
#include "sim/timing/timing.h"
#include "sim/timing/trace.h"
#include "vm/region_util.h"
#include "vm/verify/coverage.h"

namespace dvm {
namespace {

using vm::Call;
using vm::Compiled;
using vm::Launch;

const vm::TargetTraits& target() { return vm::target_named("ascend910b3"); }

std::string region_text(const std::string& elements, const std::string& sums) {
  const std::string mn = sums + "[b, m, n]";
  return "%0 = input " + elements + "[b, m, k]\n%1 = input " + elements + "[b, k, n]\n%2 = input " +
         sums + "[n]\n%3 = input " + mn + "\n%4 = matmul(%0, %1) " + mn + "\n%5 = broadcast(%2) " +
         mn + "\n%6 = add(%4, %5) " + mn + "\n%7 = mul(%6, %3) " + mn + "\nreturn %7";
}

class Mix {
 public:
  Mix(const std::string& elements, const std::string& sums, std::vector<int64_t> sizes)
      : region_(vm::region_of(region_text(elements, sums))),
        kernel_(vm::prepare(region_)),
        call(region_, kernel_, std::move(sizes)),
        compiled(vm::encode(kernel_, call.binding(), target(), arena_)) {}

  // Fills the operands with small whole numbers; what the region makes of them.
  core::Array expected(std::mt19937_64& random) {
    std::vector<core::Array> inputs;
    for (size_t k = 0; k + 1 < call.operands.size(); ++k) {
      vm::Tensor& tensor = call.operands[k];
      core::Array array = core::make_array(tensor.dtype, tensor.shape);
      core::dispatch(tensor.dtype, [&]<core::DType D>() {
        for (auto& x : core::elements<core::Storage<D>>(array)) {
          x = core::scalar::cast<core::Storage<D>>(static_cast<int64_t>(random() % 7) - 3);
        }
      });
      std::memcpy(tensor.buffer.data(), array.data.data(), tensor.buffer.size());
      inputs.push_back(std::move(array));
    }
    return core::evaluate(region_.body, inputs, {}, call.symbols)[0];
  }

  Launch launch(std::vector<std::byte*>& globals) {
    for (vm::Tensor& tensor : call.operands) globals.push_back(tensor.buffer.data());
    globals.resize(globals.size() + static_cast<size_t>(compiled.workspace_count));
    return {.program = compiled.stages[0],
            .globals = globals,
            .followers = compiled.followers,
            .handed = compiled.handed};
  }

 private:
  const core::Region region_;
  const vm::Kernel kernel_;
  vm::Arena arena_;

 public:
  Call call;
  const Compiled compiled;
};

TEST(Mix, ComputesWhatTheReferenceDoes) {
  std::mt19937_64 random(11);
  const auto one_of = [&](std::initializer_list<int64_t> sizes) {
    return sizes.begin()[random() % sizes.size()];
  };
  const std::pair<const char*, const char*> kinds[] = {{"f32", "f32"}, {"f16", "f32"}};
  int several = 0, cut_short = 0;
  for (int test = 0; test < 40; ++test) {
    const auto& [elements, sums] = kinds[test % 2];
    const std::vector<int64_t> sizes = {one_of({1, 2, 3}), one_of({1, 16, 100, 257}),
                                        one_of({1, 16, 33}), one_of({1, 17, 128, 300})};
    SCOPED_TRACE(std::to_string(sizes[0]) + ": " + std::to_string(sizes[1]) + " x " +
                 std::to_string(sizes[2]) + " x " + std::to_string(sizes[3]));
    Mix mix(elements, sums, sizes);
    ASSERT_FALSE(mix.compiled.followers.empty());
    std::vector<std::byte*> globals;
    const Launch launch = mix.launch(globals);
    EXPECT_EQ(launch.program.header().kernel_type, vm::KernelType::cube);
    EXPECT_EQ(launch.handed.turns, 2);
    vm::verify_launched(launch.program.words(), launch.handed.global);
    for (const vm::Follower& follower : launch.followers) {
      vm::verify(follower.program.words());
      EXPECT_EQ(follower.program.header().kernel_type, vm::KernelType::vector);
    }
    vm::verify_followers(launch);
    const core::Array expected = mix.expected(random);
    sim::SimTarget simulated(target());
    const sim::SimReport report = simulated.run_and_report(launch);
    int64_t tiles = 0;
    for (size_t core = 0; core < report.cores.size(); core += sim::kGroupCores) {
      tiles += report.cores[core].tiles;
    }
    EXPECT_EQ(tiles, launch.program.header().tile_count);
    const std::vector<std::byte>& got = mix.call.operands.back().buffer;
    ASSERT_EQ(got.size(), expected.data.size());
    EXPECT_EQ(std::memcmp(got.data(), expected.data.data(), got.size()), 0);
    several += tiles > 1;
    cut_short += launch.followers.size() > 1;
  }
  EXPECT_GT(several, 15);
  EXPECT_GT(cut_short, 10);
}

TEST(Mix, IsRefusedWithFewerPlacesThanCores) {
  Mix mix("f32", "f32", {1, 300, 16, 300});
  std::vector<std::byte*> globals;
  Launch launch = mix.launch(globals);
  for (const int turns : {1, vm::kMaxTurns + 1}) {
    launch.handed.turns = turns;
    EXPECT_THROW(vm::verify_followers(launch), core::Error);
  }
}

// The vector cores work while the cube does, and never ahead of it: each has the flag of a tile
// when that is in the second cache and the flag has come across.
TEST(Mix, CoresOfAGroupWorkSideBySide) {
  Mix mix("f16", "f32", {1, 2048, 512, 2048});
  std::vector<std::byte*> globals;
  const Launch launch = mix.launch(globals);
  std::vector<int64_t> buffers(globals.size());
  for (size_t k = 0; k < buffers.size(); ++k) buffers[k] = static_cast<int64_t>(k);
  const vm::CoreTiming timing = vm::core_timing("ascend910b3");
  const std::vector<sim::TimedLaunch> together = {{.program = launch.program,
                                                   .buffers = buffers,
                                                   .followers = launch.followers,
                                                   .handed = launch.handed}};
  std::vector<sim::TimedLaunch> apart = {{.program = launch.program, .buffers = buffers}};
  for (const vm::Follower& follower : launch.followers) {
    apart.push_back({.program = follower.program, .buffers = buffers});
  }
  const sim::ProgramTiming mixed = sim::time_programs(together, timing, true)[0];
  const double one_by_one = sim::time_programs(apart, timing, false).back().end;
  EXPECT_LT(mixed.end - mixed.begin, 0.9 * one_by_one);

  double cube_end = 0, overlapped = 0;
  for (const sim::PipeEvent& event : mixed.events) {
    if (event.pipe == vm::Pipe::cube) cube_end = std::max(cube_end, event.end);
  }
  for (const sim::PipeEvent& event : mixed.events) {
    if (event.pipe != vm::Pipe::simd || event.waits) continue;
    EXPECT_NE(event.core % sim::kGroupCores, 0) << "the cube's core has no vectors";
    overlapped += std::max(0.0, std::min(event.end, cube_end) - event.begin);
  }
  EXPECT_GT(overlapped, 0.0);
  int crossed = 0;
  for (const sim::FlagEvent& flag : mixed.flags) {
    if (!flag.crosses) continue;
    EXPECT_GE(flag.seen, flag.set + timing.cross_flag_cycles);
    ++crossed;
  }
  // Each tile is waited for by both vector cores, and its place by the cube.
  EXPECT_EQ(crossed, static_cast<int>(3 * launch.program.header().tile_count));
}

}  // namespace
}  // namespace dvm
