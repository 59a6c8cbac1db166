// Arguments as callers hand them over: slices, backwards, transposed, repeating and overlapping
// themselves, at any element of a larger piece of memory.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/graph_generator.h"
#include "runtime/fake_host.h"

namespace dvm::test {

// A host array of the shape of `array` in a random layout, filled with its elements. Where elements
// share memory the last one written stays: `array` becomes what the host array then holds.
inline BufferView to_random_buffer(FakeHost& host, core::Array& array, Random& random) {
  const int rank = static_cast<int>(array.shape.size());
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  if (random.chance(50)) std::reverse(order.begin(), order.end());
  for (size_t d = order.size(); d > 1 && random.chance(40); --d) {
    std::swap(order[d - 1], order[static_cast<size_t>(random.below(static_cast<int64_t>(d)))]);
  }
  std::vector<int64_t> strides(order.size());  // in elements
  int64_t low = 0, high = 0, run = 1;
  for (const int d : order) {  // innermost first
    const int64_t size = array.shape[static_cast<size_t>(d)];
    int64_t stride = run;
    if (random.chance(15)) stride = 0;
    if (random.chance(10)) stride = 1 + random.below(3);  // overlaps the dims inside it
    if (random.chance(25)) stride += 1 + random.below(5);
    if (random.chance(20)) stride = -stride;
    strides[static_cast<size_t>(d)] = stride;
    const int64_t reach = std::max<int64_t>(size - 1, 0) * stride;
    (stride < 0 ? low : high) += reach;
    run = std::max(run, std::abs(stride) * std::max<int64_t>(size, 1));
  }
  const int64_t before = random.chance(50) ? random.below(9) : 0;
  BufferView view;
  const int64_t elements[] = {before + high - low + 1};
  EXPECT_TRUE(host.allocate(array.dtype, elements, view));
  const int64_t bytes = core::byte_size(array.dtype);
  std::memset(view.data, 0, static_cast<size_t>(elements[0] * bytes));
  view.data += (before - low) * bytes;
  view.rank = rank;
  for (int d = 0; d < rank; ++d) {
    view.shape[d] = array.shape[static_cast<size_t>(d)];
    view.strides[d] = strides[static_cast<size_t>(d)] * bytes;
  }
  each_element(view, [&](int64_t to, int64_t from) {
    std::memcpy(view.data + to, array.data.data() + from, static_cast<size_t>(bytes));
  });
  array = to_array(view);
  return view;
}

}  // namespace dvm::test
