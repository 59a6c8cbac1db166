// What a call pays before a Region runs: bind, tile and emit of 1, 10 and 30 instructions, in
// nanoseconds per phase and as a whole, on the cpu and on a simulated target.
#include <benchmark/benchmark.h>

#include <array>
#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

#include "vm/encode/emit.h"
#include "vm/encode/encode.h"
#include "vm/tile/tiler.h"

namespace dvm::vm {
namespace {

// A chain over [s0, s1] with a bias row, a scalar factor and values that stay live for a while.
core::Region chain(int steps) {
  core::Region region{"r0", core::Graph()};
  core::Graph& g = region.body;
  const core::Dim rows = g.dims().symbol("s0"), columns = g.dims().symbol("s1");
  const core::Value x = g.input({DType::f32, {rows, columns}});
  core::Value v = x;
  if (steps > 1) {
    const core::Value bias = g.broadcast(g.input({DType::f32, {columns}}), {rows, columns});
    const core::Value factor =
        g.broadcast(g.constant(DType::f32, Scalar::of_float(0.5)), {rows, columns});
    v = g.elementwise(core::Op::mul, std::array{v, factor});
    v = g.elementwise(core::Op::add, std::array{v, bias});
    steps -= 3;  // the broadcast of the bias is an instruction, that of the factor is none
  }
  for (int i = 0; i < steps; ++i) {
    v = i % 3 == 2 ? g.elementwise(core::Op::add, std::array{v, x})
                   : g.elementwise(core::Op::tanh, std::array{v});
  }
  g.outputs = {v};
  return region;
}

void encode_chain(benchmark::State& state, std::string_view target_name) {
  const TargetTraits& target = *find_target(target_name);
  const Kernel kernel = prepare(chain(static_cast<int>(state.range(0))));
  const int64_t sizes[] = {128, 1000};
  std::vector<int64_t> dims;
  for (core::Dim dim : kernel.dims) dims.push_back(core::evaluate(dim, sizes).value());
  int64_t strides[3][kMaxRank] = {{4000, 4}, {0, 4}, {4000, 4}};
  if (kernel.input_count == 1) strides[1][0] = 4000;
  const Binding binding{dims.data(), nullptr, strides};
  Arena arena;
  const auto timed = [&](PhaseTimes* times) {
    arena.reset();
    const Compiled compiled = encode(kernel, binding, target, arena, times);
    benchmark::DoNotOptimize(compiled.stage_count);
  };
  for (auto _ : state) timed(nullptr);
  // The phases one by one: a clock between them would cost as much as a phase.
  auto stage = std::make_unique<Stage>();
  auto drafts = std::make_unique<Drafts>();
  auto schedules = std::make_unique<Schedules>();
  Tiling tiling;
  const auto nanoseconds = [](auto&& phase) {
    constexpr int kRuns = 20000;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kRuns; ++i) phase();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    return time.count() / kRuns;
  };
  state.counters["bind_ns"] = nanoseconds(
      [&] { benchmark::DoNotOptimize(bind(kernel, binding, all_outputs(kernel), *stage)); });
  state.counters["tile_ns"] = nanoseconds([&] {
    schedules->begin(*stage, target);
    tiling = tile(*schedules, tile_limit(*schedules));
    benchmark::DoNotOptimize(tiling.tile_count);
  });
  arena.reset();
  state.counters["emit_ns"] = nanoseconds(
      [&] { benchmark::DoNotOptimize(emit(*schedules, tiling, arena.rest(), *drafts)); });
}

BENCHMARK_CAPTURE(encode_chain, cpu, "cpu")->Arg(1)->Arg(10)->Arg(30);
BENCHMARK_CAPTURE(encode_chain, ascend910b3, "ascend910b3")->Arg(1)->Arg(10)->Arg(30);

}  // namespace
}  // namespace dvm::vm
