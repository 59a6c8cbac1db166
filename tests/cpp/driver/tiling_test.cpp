// Tiles and costs decide how fast a result is there, never what it is: any tiling that can be asked
// for gives the bits that the chosen one does, and so does any table of costs.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "core/ops/scalar_ops.h"
#include "driver/compile.h"
#include "vm/encode/encode.h"
#include "vm/region_util.h"
#include "vm/target/calibration.h"
#include "vm/tile/tiler.h"

namespace dvm::driver {
namespace {

constexpr const char* kBodies[] = {
    R"(%0 = input f32[s0, s1]
       %1 = input f32[s1]
       %2 = broadcast(%1) f32[s0, s1]
       %3 = add(%0, %2) f32[s0, s1]
       %4 = tanh(%3) f32[s0, s1]
       return %4)",
    R"(%0 = input f64[s0, s1]
       %1 = input f64[s0, s1]
       %2 = mul(%0, %1) f64[s0, s1]
       %3 = log1p(%2) f64[s0, s1]
       %4 = sub(%3, %0) f64[s0, s1]
       return %4)",
    R"(%0 = input f32[s0, s1]
       %1 = square(%0) f32[s0, s1]
       %2 = sum(%1) f32[s0, 1] {axes = [1]}
       return %2)",
    R"(%0 = input f32[s0, s1]
       %1 = square(%0) f32[s0, s1]
       %2 = sum(%1) f32[1, s1] {axes = [0]}
       return %2)",
    R"(%0 = input f64[s0, s1]
       %1 = input f64[1, s1]
       %2 = broadcast(%1) f64[s0, s1]
       %3 = sub(%0, %2) f64[s0, s1]
       %4 = square(%3) f64[s0, s1]
       %5 = sum(%4) f64[1, s1] {axes = [0]}
       return %5)",
};

class Tilings : public testing::TestWithParam<const char*> {
 protected:
  Tilings() : region(vm::region_of(GetParam())), kernel(vm::prepare(region)) {}

  // The result's bytes, with costs that are in use now.
  std::vector<std::byte> run(vm::Call& call, const vm::TileRequest* request) {
    vm::Target& cpu = target("cpu");
    vm::Arena arena;
    const vm::Compiled compiled =
        vm::encode(kernel, call.binding(), cpu.traits(), arena, nullptr, request);
    std::vector<std::byte> workspace[vm::kMaxWorkspaces];
    std::vector<std::byte*> globals;
    for (vm::Tensor& operand : call.operands) globals.push_back(operand.buffer.data());
    for (int k = 0; k < compiled.workspace_count; ++k) {
      workspace[k].resize(static_cast<size_t>(compiled.workspace_bytes[k]));
      globals.push_back(workspace[k].data());
    }
    std::fill(call.operands.back().buffer.begin(), call.operands.back().buffer.end(),
              std::byte{0xee});
    for (int k = 0; k < compiled.stage_count; ++k) {
      vm::verify(compiled.stages[k].words());
      cpu.run(compiled.stages[k], globals);
    }
    return call.operands.back().buffer;
  }

  vm::Call random_call(std::mt19937_64& random) {
    constexpr int64_t kSizes[] = {1, 2, 3, 16, 37, 64, 129, 600, 1000, 1025, 3000};
    const auto size = [&] { return kSizes[random() % std::size(kSizes)]; };
    vm::Call call(region, kernel, {size(), std::min<int64_t>(size(), 1025)});
    for (vm::Tensor& operand : call.operands) {
      core::dispatch(operand.dtype, [&]<core::DType D>() {
        using T = core::Storage<D>;
        operand.for_each([&](int64_t, std::byte* at) {
          const T value = core::scalar::cast<T>(static_cast<double>(random() % 10000) / 7000);
          std::memcpy(at, &value, sizeof value);
        });
      });
    }
    return call;
  }

  core::Region region;
  vm::Kernel kernel;
};

TEST_P(Tilings, AllGiveTheSameBits) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 60; ++round) {
    vm::Call call = random_call(random);
    const auto expected = run(call, nullptr);
    for (int k = 0; k < 4; ++k) {
      const vm::TileRequest request{.reduction = random() % 3 == 0 ? vm::Tiling::Reduction::chunks
                                                                   : vm::Tiling::Reduction::in_tile,
                                    .split = static_cast<int>(random() % 2),
                                    .tile = static_cast<int64_t>(1 + random() % 200)};
      ASSERT_EQ(run(call, &request), expected) << "round " << round << ", request " << k;
    }
  }
}

TEST_P(Tilings, NoTableOfCostsChangesAResult) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 60; ++round) {
    vm::Call call = random_call(random);
    const auto expected = run(call, nullptr);
    vm::CostTable table;
    vm::for_each_cost(table, [&](const vm::CostEntry& entry, double& value) {
      constexpr double kShares[] = {0, 1, 0.001};
      value = entry.least + kShares[random() % 3] * (entry.most - entry.least);
    });
    vm::set_cost_table(table);
    const auto other = run(call, nullptr);
    vm::set_cost_table({});
    ASSERT_EQ(other, expected) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, Tilings, testing::ValuesIn(kBodies));

}  // namespace
}  // namespace dvm::driver
