// Gathers, scatters and masks of arrays of any strides, against the reference evaluator.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/ops/scalar_ops.h"
#include "core/reference/reference_along.h"
#include "cpu/cpu_target.h"
#include "runtime/strided_array.h"
#include "runtime/whole/fold.h"
#include "runtime/whole/gather.h"
#include "runtime/whole/masks.h"
#include "runtime/whole/whole_ops.h"

namespace dvm::runtime {
namespace {

using core::Array;
using core::DType;
using core::Op;
using Extents = std::vector<int64_t>;

Array dense(StridedArray& from, const Extents& shape) {
  Array array = core::make_array(from.view.dtype, shape);
  const auto bytes = static_cast<size_t>(core::byte_size(from.view.dtype));
  size_t at = 0;
  from.for_each([&](const std::byte* element) {
    std::copy_n(element, bytes, array.data.data() + at);
    at += bytes;
  });
  return array;
}

class IndexedOps : public testing::Test {
 protected:
  int64_t below(int64_t end) { return static_cast<int64_t>(rng() % static_cast<uint64_t>(end)); }
  bool chance(int64_t percent) { return below(100) < percent; }

  // Axes of which some are long, so that there are rows, and lines that threads share.
  Extents random_shape(int64_t rank) {
    Extents shape;
    while (static_cast<int64_t>(shape.size()) < rank) {
      shape.push_back(chance(10) ? 1 + below(40) : 1 + below(5));
    }
    return shape;
  }

  // Elements that differ, and of which sums of a few are exact.
  void fill(StridedArray& array) {
    core::dispatch(array.view.dtype, [&]<DType D>() {
      array.for_each([&](std::byte* at) {
        *reinterpret_cast<core::Storage<D>*>(at) =
            core::scalar::cast<core::Storage<D>>(below(60) - 30);
      });
    });
  }

  std::mt19937 rng{11};
  std::unique_ptr<vm::Target> target = cpu::make_cpu_target();
};

TEST_F(IndexedOps, MoveWhatTheReferenceMoves) {
  constexpr DType kDTypes[] = {DType::boolean, DType::f16, DType::f32, DType::i64};
  const std::string combined_with[] = {"", "", "add", "maximum", "mul"};
  int refused = 0;
  for (int test = 0; test < 1500; ++test) {
    const Extents shape = random_shape(1 + below(3));
    const auto axis = static_cast<size_t>(below(static_cast<int64_t>(shape.size())));
    const bool per_element = chance(40), takes = chance(40);
    Extents of_indices, places = shape;
    if (per_element) {
      places[axis] = below(9);
      of_indices = places;
    } else {
      for (int64_t rank = below(4); static_cast<int64_t>(of_indices.size()) < rank;) {
        of_indices.push_back(chance(5) ? 0 : chance(10) ? 1 + below(400) : 1 + below(6));
        if (of_indices.back() > 6) rank = static_cast<int64_t>(of_indices.size());
      }
      const auto at = places.begin() + static_cast<ptrdiff_t>(axis);
      places.insert(places.erase(at), of_indices.begin(), of_indices.end());
    }
    Extents of_elements = places;
    for (int64_t& size : of_elements) {
      if (!takes && chance(15)) size = 1;
    }
    const DType dtype = kDTypes[below(4)];
    StridedArray table(dtype, shape, rng, !takes), indices(DType::i64, of_indices, rng, false);
    StridedArray elements(dtype, of_elements, rng, takes);
    fill(table);
    fill(elements);
    const int64_t extent = shape[axis];
    const bool strays = chance(10);
    indices.for_each([&](std::byte* at) {
      auto& index = *reinterpret_cast<int64_t*>(at);
      index = below(2 * extent) - extent;
      if (strays && chance(20)) index = chance(50) ? extent + below(3) : INT64_MIN + below(3);
    });

    core::Node node;
    node.op = takes ? (per_element ? Op::take_along : Op::gather)
                    : (per_element ? Op::put_along : Op::scatter);
    node.attrs.axes = {static_cast<int>(axis)};
    node.type.dtype = dtype;
    const Array from = dense(table, shape), at = dense(indices, of_indices),
                given = dense(elements, of_elements);
    std::vector<const Array*> operands{&from, &at};
    std::optional<Op> with;
    if (!takes) {
      operands.push_back(&given);
      node.attrs.with = combined_with[below(5)];
      with = core::op_from_text(node.attrs.with);
    }
    std::optional<Array> expected;
    try {
      expected = core::evaluate_along(node, operands);
    } catch (const core::Error&) {
      ++refused;
    }
    StridedArray& result = takes ? elements : table;
    const StridedArray before = result;
    const bool done = takes ? run_gather(node.op, table.view, indices.view, elements.view,
                                         static_cast<int>(axis), *target)
                            : run_scatter(node.op, with, indices.view, elements.view, table.view,
                                          static_cast<int>(axis));
    ASSERT_EQ(done, expected.has_value()) << "case " << test;
    if (done) {
      ASSERT_EQ(dense(result, takes ? of_elements : shape).data, expected->data) << "case " << test;
    } else {
      ASSERT_EQ(result.memory, before.memory) << "case " << test << " wrote in vain";
    }
  }
  EXPECT_GT(refused, 20);
}

TEST_F(IndexedOps, ChooseWhatIsTrue) {
  for (int test = 0; test < 600; ++test) {
    Extents shape = random_shape(1 + below(3));
    const bool large = chance(20);
    if (large) shape.resize(static_cast<size_t>(1 + below(2)), 3);
    const auto axis = static_cast<size_t>(below(static_cast<int64_t>(shape.size())));
    shape[axis] = large ? below(50000) : below(40);
    const int64_t percent = chance(30) ? below(3) : chance(30) ? 98 + below(3) : below(101);
    const DType dtype = chance(50) ? DType::f32 : chance(50) ? DType::i64 : DType::boolean;
    StridedArray a(dtype, shape, rng, false), mask(DType::boolean, {shape[axis]}, rng, true);
    std::vector<int64_t> expected;
    int64_t i = 0;
    mask.for_each([&](std::byte* at) {
      *at = static_cast<std::byte>(chance(percent) ? 1 + below(255) : 0);
      if (*at != std::byte{0}) expected.push_back(i);
      ++i;
    });
    const auto count = static_cast<int64_t>(expected.size());
    StridedArray places(DType::i64, {count}, rng, true);
    ASSERT_TRUE(run_nonzero(mask.view, places.view, *target));
    const Array found = dense(places, {count});
    const auto positions = core::elements<int64_t>(found);
    ASSERT_EQ(std::vector<int64_t>(positions.begin(), positions.end()), expected);
    Extents chosen = shape;
    chosen[axis] = count;
    StridedArray result(dtype, chosen, rng, true), gathered = result.again();
    ASSERT_TRUE(run_compress(a.view, mask.view, result.view, static_cast<int>(axis), *target));
    ASSERT_TRUE(run_gather(Op::gather, a.view, places.view, gathered.view, static_cast<int>(axis),
                           *target));
    ASSERT_EQ(result.memory, gathered.memory) << "case " << test;
    // Of any other number nothing is written.
    ++chosen[axis];
    StridedArray more(dtype, chosen, rng, true);
    const StridedArray before = more;
    EXPECT_FALSE(run_compress(a.view, mask.view, more.view, static_cast<int>(axis), *target));
    EXPECT_EQ(more.memory, before.memory);
  }
}

TEST_F(IndexedOps, GiveTheSameOnTwoThreads) {
  constexpr int64_t kRows = 300000;
  const auto alone = cpu::make_cpu_target(cpu::Threads::one);
  StridedArray indices(DType::i64, {kRows}, rng, true), mask(DType::boolean, {kRows}, rng, true);
  indices.for_each([&](std::byte* at) { *reinterpret_cast<int64_t*>(at) = below(kRows); });
  mask.for_each([&](std::byte* at) { *at = static_cast<std::byte>(below(2)); });
  for (const Extents& shape : {Extents{kRows}, Extents{kRows, 3}, Extents{kRows, 8}}) {
    StridedArray table(DType::f32, shape, rng, true), result(DType::f32, shape, rng, true);
    const StridedArray again = result.again();
    ASSERT_TRUE(run_gather(Op::gather, table.view, indices.view, result.view, 0, *target));
    ASSERT_TRUE(run_gather(Op::gather, table.view, indices.view, again.view, 0, *alone));
    EXPECT_EQ(result.memory, again.memory);
  }
}

#ifndef __SANITIZE_THREAD__  // for the program's own race is what is tested
// Another thread writes indices, or the mask, while they are used: what comes of that is anybody's
// guess, but nothing is touched that is not of the arrays. The bytes around them stay as they are.
TEST_F(IndexedOps, StayInTheirArraysWhateverOthersWrite) {
  constexpr int64_t kRows = 20000, kExtent = 64, kFence = 4096;
  const auto fenced = [](int64_t elements) {
    return std::vector<int64_t>(static_cast<size_t>(elements + 2 * kFence), -7);
  };
  const auto view_of = [](std::vector<int64_t>& memory, int64_t elements) {
    BufferView view{.data = reinterpret_cast<std::byte*>(memory.data() + kFence),
                    .dtype = DType::i64,
                    .rank = 1};
    view.shape[0] = elements;
    view.strides[0] = sizeof(int64_t);
    return view;
  };
  const auto is_whole = [](const std::vector<int64_t>& memory) {
    const auto is_fence = [](int64_t word) { return word == -7; };
    return std::all_of(memory.begin(), memory.begin() + kFence, is_fence) &&
           std::all_of(memory.end() - kFence, memory.end(), is_fence);
  };
  auto indices = fenced(kRows), table = fenced(kExtent), elements = fenced(kRows);
  std::fill_n(table.begin() + kFence, kExtent, 0);
  std::vector<uint8_t> mask(kRows, 0);
  std::fill_n(indices.begin() + kFence, kRows, 1);
  std::fill_n(mask.begin(), kRows / 2, uint8_t{1});
  BufferView of_mask{
      .data = reinterpret_cast<std::byte*>(mask.data()), .dtype = DType::boolean, .rank = 1};
  of_mask.shape[0] = kRows;
  of_mask.strides[0] = 1;

  std::atomic<bool> ends{false};
  std::atomic<int64_t> turns{0};  // of the writer, which a busy machine may start late
  std::thread writer([&] {
    for (int64_t turn = 0; !ends.load(std::memory_order_relaxed); turns = ++turn) {
      const auto at = static_cast<size_t>(turn * 7919 % kRows);
      // Near enough to be seen in a fence, or far from anything.
      const int64_t strays[] = {kExtent + kFence / 2, -kExtent - kFence / 2, int64_t{1} << 44};
      __atomic_store_n(&indices[kFence + at], strays[turn % 3], __ATOMIC_RELAXED);
      __atomic_store_n(&mask[at], uint8_t{1}, __ATOMIC_RELAXED);
      __atomic_store_n(&indices[kFence + at], 1, __ATOMIC_RELAXED);
      __atomic_store_n(&mask[at], uint8_t{at < kRows / 2}, __ATOMIC_RELAXED);
    }
  });
  const BufferView of_indices = view_of(indices, kRows), of_table = view_of(table, kExtent);
  for (int round = 0; round < 300 || turns < 1000000; ++round) {
    const BufferView of_elements = view_of(elements, kRows);
    run_gather(Op::gather, of_table, of_indices, of_elements, 0, *target);
    run_scatter(Op::scatter, std::nullopt, of_indices, of_elements, of_table, 0);
    run_scatter(Op::scatter, Op::add, of_indices, of_elements, of_table, 0);
    const BufferView of_half = view_of(elements, kRows / 2);
    run_nonzero(of_mask, of_half, *target);
    run_compress(of_indices, of_mask, of_half, 0, *target);
  }
  ends = true;
  writer.join();
  EXPECT_TRUE(is_whole(table));
  EXPECT_TRUE(is_whole(elements));
  EXPECT_TRUE(std::all_of(elements.begin() + kFence, elements.end() - kFence,
                          [](int64_t element) { return element != -7; }));
}
#endif

}  // namespace
}  // namespace dvm::runtime
