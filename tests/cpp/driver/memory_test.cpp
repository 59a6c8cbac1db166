// Which values share memory, of Graphs with many updates.
#include "driver/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "driver/compile.h"

namespace dvm::driver {
namespace {

// Each part is written into what the update before it made, as `x[i] = y` does in a loop.
core::Graph updates(int count) {
  core::Graph graph;
  const auto f32 = [&](int64_t size) {
    return core::Type{core::DType::f32, {graph.dims().constant(size)}};
  };
  const core::Value part = graph.input(f32(1));
  core::Value made = graph.empty(f32(8));
  for (int k = 0; k < count; ++k) {
    made = graph.update(made, part, {graph.dims().constant(k % 8)}, {1});
  }
  graph.outputs = {made};
  return graph;
}

double seconds_of_map(int count) {
  const core::Graph graph = updates(count);
  const fuser::Fusion fusion = fuser::fuse(graph, {});
  double best = 1e9;
  for (int time = 0; time < 3; ++time) {
    timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    const MemoryMap memory(graph, fusion, {});
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    EXPECT_EQ(memory.root(graph.outputs[0]), 1);
    best = std::min(best, static_cast<double>(end.tv_sec - begin.tv_sec) +
                              static_cast<double>(end.tv_nsec - begin.tv_nsec) * 1e-9);
  }
  return best;
}

TEST(MemoryMap, LooksAtNoValueAgainAndAgain) {
  // Eight times as many take eight times as long, not sixty-four times.
  EXPECT_LT(seconds_of_map(4000), 24 * seconds_of_map(500));
}

}  // namespace
}  // namespace dvm::driver
