// What a call of sizes met before costs beside its Regions: chains of Regions of few elements,
// every one of which leaves a temporary to the next, in nanoseconds of a whole call; and the same
// Programs alone, handed to the target one by one.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "cpu/cpu_target.h"
#include "runtime/compiled_graph.h"
#include "runtime/plain_host.h"
#include "vm/encode/memo.h"

namespace dvm::runtime {
namespace {

std::string chain(int64_t regions) {
  std::string text = "plan v1 {\ninput b0: f32 rank 1\n", code = "i0 = size b0, 0\n";
  for (int64_t k = 0; k < regions; ++k) {
    const std::string n = std::to_string(k), to = std::to_string(k + 1);
    text += "region r" + n +
            " = graph v1 {\n%0 = input f32[s0]\n%1 = " + (k % 2 == 0 ? "neg" : "abs") +
            "(%0) f32[s0]\nreturn %1\n}\n";
    code += "b" + to + (k + 1 == regions ? " = host_alloc" : " = alloc") + " f32, [i0]\nrun r" + n +
            ", [b" + n + "], [b" + to + "], [i0], []\n";
    if (k > 0) code += "free b" + n + "\n";
  }
  return text + code + "ret [b" + std::to_string(regions) + "]\n}\n";
}

void recalled(benchmark::State& state) {
  const auto target = cpu::make_cpu_target();
  const CompiledGraph graph(parse_plan(chain(state.range(0))), *target);
  PlainHost host;
  const int64_t elements = state.range(1);
  BufferView input, result;
  if (!host.allocate(core::DType::f32, {&elements, 1}, input)) std::abort();
  for (auto _ : state) {
    BorrowedContext context;
    if (graph.run(host, {&input, 1}, {}, {&result, 1}, *context) != Outcome::done) std::abort();
    host.release(result.owner);
  }
  host.release(input.owner);
}
BENCHMARK(recalled)->ArgsProduct({{1, 2, 8, 24}, {16, 4096}});

void programs(benchmark::State& state) {
  const auto target = cpu::make_cpu_target();
  const Plan plan = parse_plan(chain(1));
  vm::Memo memo;
  const int64_t elements = state.range(1);
  std::vector<float> memory[2] = {std::vector<float>(static_cast<size_t>(elements)),
                                  std::vector<float>(static_cast<size_t>(elements))};
  std::byte* const globals[] = {reinterpret_cast<std::byte*>(memory[0].data()),
                                reinterpret_cast<std::byte*>(memory[1].data())};
  int64_t strides[2][core::kMaxRank] = {{4}, {4}};
  const vm::Binding binding{&elements, nullptr, strides};
  const vm::Memo::Encoded& encoded = memo.encode(plan.regions[0].kernel, binding, target->traits());
  for (auto _ : state) {
    for (int64_t k = 0; k < state.range(0); ++k) {
      benchmark::DoNotOptimize(target->run(encoded.compiled.stages[0], globals));
    }
  }
}
BENCHMARK(programs)->ArgsProduct({{1, 2, 8, 24}, {16, 4096}});

}  // namespace
}  // namespace dvm::runtime
