// Arrays of random strides, for what runs on arrays of any.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "core/graph/tensor.h"
#include "runtime/host.h"

namespace dvm::runtime {

// An array of its own memory; strides may be negative or leave gaps, and 0 where nothing is
// written.
struct StridedArray {
  std::vector<std::byte> memory;
  BufferView view;

  StridedArray(core::DType dtype, const std::vector<int64_t>& shape, std::mt19937& rng,
               bool written) {
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

  // A copy at another place.
  StridedArray again() const {
    StridedArray copy = *this;
    copy.view.data = copy.memory.data() + (view.data - memory.data());
    return copy;
  }

  template <typename F>
  void for_each(F f) {
    const auto rank = static_cast<size_t>(view.rank);
    core::for_each_element({view.shape, rank}, {view.strides, rank},
                           [&](int64_t offset) { f(view.data + offset); });
  }
};

}  // namespace dvm::runtime
