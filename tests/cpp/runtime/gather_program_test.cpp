// Gathers as Programs of simulated AI Cores, against those of the host: all sizes of tiles, strides
// of both signs, broadcast operands, indices of any rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "cpu/cpu_target.h"
#include "runtime/whole/whole_ops.h"
#include "sim/sim_target.h"

namespace dvm::runtime {
namespace {

using core::DType;

// An array of its own memory; strides may be negative, 0, or leave gaps.
struct Array {
  std::vector<std::byte> memory;
  BufferView view;

  Array(DType dtype, const std::vector<int64_t>& shape, std::mt19937& rng, bool written) {
    view.dtype = dtype;
    view.rank = static_cast<int32_t>(shape.size());
    int64_t bytes = core::byte_size(dtype), low = 0;
    const auto below = [&](uint32_t end) { return rng() % end; };
    for (int d = view.rank - 1; d >= 0; --d) {
      const int64_t size = shape[static_cast<size_t>(d)];
      view.shape[d] = size;
      int64_t stride = bytes * (below(4) == 0 ? 2 : 1);
      bytes = stride * std::max<int64_t>(size, 1);
      if (below(4) == 0) {
        low -= stride * (size - 1);
        stride = -stride;
      } else if (!written && below(6) == 0) {
        stride = 0;
      }
      view.strides[d] = stride;
    }
    memory.resize(static_cast<size_t>(bytes));
    for (std::byte& byte : memory) byte = static_cast<std::byte>(rng());
    view.data = memory.data() - std::min<int64_t>(low, 0);
  }

  template <typename F>
  void for_each(F f) {
    std::vector<int64_t> index(static_cast<size_t>(view.rank), 0);
    int64_t count = 1;
    for (int d = 0; d < view.rank; ++d) count *= view.shape[d];
    for (int64_t i = 0; i < count; ++i) {
      int64_t offset = 0;
      for (int d = 0; d < view.rank; ++d) offset += index[static_cast<size_t>(d)] * view.strides[d];
      f(view.data + offset);
      for (int d = view.rank; d-- > 0;) {
        if (++index[static_cast<size_t>(d)] < view.shape[d]) break;
        index[static_cast<size_t>(d)] = 0;
      }
    }
  }
};

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
    Array a(dtype, shape, rng, false), indices(DType::i64, of_indices, rng, false);
    const int64_t extent = shape[axis];
    const bool strays = below(10) == 0;
    indices.for_each([&](std::byte* at) {
      *reinterpret_cast<int64_t*>(at) = below(static_cast<uint32_t>(2 * extent)) - extent;
      if (strays && below(3) == 0) *reinterpret_cast<int64_t*>(at) = extent + below(3);
    });
    Array result(dtype, of_result, rng, true);
    Array again = result;
    again.view.data = again.memory.data() + (result.view.data - result.memory.data());
    const BufferView* operands[] = {&a.view, &indices.view};
    const core::Op op = per_element ? core::Op::take_along : core::Op::gather;
    const auto on = [&](vm::Target& target, const Array& to) {
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
