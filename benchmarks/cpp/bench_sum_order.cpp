// What the canonical summation order costs the reference evaluator, as elements per second: the
// lane tree of adjacent elements, and the sequential chunks of a column.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "core/ops/sum_order.h"

namespace dvm::core {
namespace {

void sum_floats(benchmark::State& state) {
  const int64_t count = state.range(0);
  const bool adjacent = state.range(1) != 0;
  const std::vector<float> data(count, 0.1F);
  for (auto _ : state) {
    float total = reduce_canonical<float>(
        count, adjacent, [&](int64_t i) { return data[i]; }, std::plus<>());
    benchmark::DoNotOptimize(total);
  }
  state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(sum_floats)->ArgNames({"count", "adjacent"})->ArgsProduct({{512, 1 << 20}, {0, 1}});

}  // namespace
}  // namespace dvm::core
