// The cpu target on several threads: the same bits as on one, also from many callers at once.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "cpu/cpu_target.h"
#include "tile_program.h"

namespace dvm::testing {
namespace {

constexpr int64_t kCount = (1 << 19) + 77;

std::vector<float> run_tanh(vm::Target& target, const std::vector<float>& input) {
  const std::optional<uint64_t> scalars[] = {std::nullopt};
  TileCase test = linear_case(Insn::tanh, DType::f32, 0, kCount, 1024, scalars);
  test.streams = true;
  Buffers buffers{to_bytes(input), std::vector<std::byte>(kCount * sizeof(float))};
  run(target, test, buffers);
  const auto* result = reinterpret_cast<const float*>(buffers[1].data());
  return {result, result + kCount};
}

TEST(Parallel, AnyThreadCountGivesTheSameBits) {
  const auto cpu = cpu::make_cpu_target();
  std::vector<float> input(kCount);
  for (int64_t i = 0; i < kCount; ++i)
    input[static_cast<size_t>(i)] = static_cast<float>(i) * 1e-5F;
  cpu::set_thread_count(1);
  const std::vector<float> expected = run_tanh(*cpu, input);
  EXPECT_EQ(expected.back(), std::tanh(input.back()));
  for (const int threads : {2, 3, 8}) {
    cpu::set_thread_count(threads);
    EXPECT_EQ(cpu::thread_count(), threads);
    EXPECT_EQ(run_tanh(*cpu, input), expected) << threads << " threads";
  }
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (int t = 0; t < 3; ++t) {
    callers.emplace_back([&] { EXPECT_EQ(run_tanh(*cpu, input), expected); });
  }
  for (std::thread& caller : callers) caller.join();
  cpu::set_thread_count(2);
}

}  // namespace
}  // namespace dvm::testing
