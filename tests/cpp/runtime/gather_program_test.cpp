// Gathers as Programs of simulated AI Cores, against those of the host: all sizes of tiles, strides
// of both signs, broadcast operands, indices of any rank.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "cpu/cpu_target.h"
#include "runtime/strided_array.h"
#include "runtime/whole/whole_ops.h"
#include "sim/sim_target.h"

namespace dvm::runtime {
namespace {

using core::DType;

TEST(GatherPrograms, GiveWhatTheHostTakes) {
  std::mt19937 rng(7);
  vm::TargetTraits traits = *vm::find_target("ascend910b3");
  const auto cpu = cpu::make_cpu_target();
  const auto below = [&](uint32_t end) { return static_cast<int64_t>(rng() % end); };
  constexpr DType kDTypes[] = {DType::boolean, DType::f16, DType::f32, DType::i64};
  int stray = 0;
  for (int test = 0; test < 1500; ++test) {
    // Tiles of a few elements in most cases.
    traits.local_bytes = test % 3 == 0 ? 196608 : 512 + 64 + 32 * below(80) + 64;
    const auto sim = sim::make_sim_target(traits);
    std::vector<int64_t> shape;
    for (int64_t rank = 1 + below(3); static_cast<int64_t>(shape.size()) < rank;) {
      shape.push_back(1 + below(7));
    }
    const auto axis = static_cast<size_t>(below(static_cast<uint32_t>(shape.size())));
    const bool per_element = below(2) == 0;
    std::vector<int64_t> of_indices, of_result = shape;
    if (per_element) {
      of_result[axis] = below(9);
      of_indices = of_result;
    } else {
      for (int64_t rank = below(4); static_cast<int64_t>(of_indices.size()) < rank;) {
        of_indices.push_back(below(8) == 0 ? 0 : 1 + below(6));
      }
      of_result.erase(of_result.begin() + static_cast<ptrdiff_t>(axis));
      of_result.insert(of_result.begin() + static_cast<ptrdiff_t>(axis), of_indices.begin(),
                       of_indices.end());
    }
    const DType dtype = kDTypes[below(4)];
    StridedArray a(dtype, shape, rng, false), indices(DType::i64, of_indices, rng, false);
    const int64_t extent = shape[axis];
    const bool strays = below(10) == 0;
    indices.for_each([&](std::byte* at) {
      *reinterpret_cast<int64_t*>(at) = below(static_cast<uint32_t>(2 * extent)) - extent;
      if (strays && below(3) == 0) *reinterpret_cast<int64_t*>(at) = extent + below(3);
    });
    const StridedArray result(dtype, of_result, rng, true), again = result.again();
    const BufferView* operands[] = {&a.view, &indices.view};
    const core::Op op = per_element ? core::Op::take_along : core::Op::gather;
    const auto on = [&](vm::Target& target, const StridedArray& to) {
      return run_whole(op, operands, to.view, static_cast<int>(axis), target);
    };
    const bool done = on(*cpu, result);
    stray += !done;
    ASSERT_EQ(on(*sim, again), done) << "case " << test;
    ASSERT_EQ(again.memory, result.memory) << "case " << test;
  }
  EXPECT_GT(stray, 20);
}

}  // namespace
}  // namespace dvm::runtime
