// A host of counted arrays: whoever forgets a reference, or drops one too many, is found out.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "core/reference/reference.h"
#include "runtime/host.h"

namespace dvm::test {

using runtime::BufferView;
using runtime::HostValue;

class FakeHost : public runtime::HostCalls {
 public:
  // What a call does, and one that writes; returning false is a host error.
  using Function = std::function<bool(const runtime::HostCall&, std::span<BufferView>)>;
  using Writer = std::function<bool(const runtime::HostCall&, std::span<const BufferView>)>;
  Function function;
  Writer writer;
  int64_t live = 0;                // arrays with references
  int64_t allocations = 0;         // so far
  int64_t fail_at = -1;            // the allocation that fails, counted from 0
  int64_t fail_after_inputs = -1;  // the same, for runners that first allocate arguments

  bool locked = true;    // by the thread that runs the Plan
  int64_t unlocked = 0;  // how often it was not

  bool allocate(core::DType dtype, std::span<const int64_t> shape, BufferView& out) override {
    EXPECT_TRUE(locked);
    if (allocations++ == fail_at) return false;
    out = {.dtype = dtype, .rank = static_cast<int32_t>(shape.size())};
    int64_t stride = core::byte_size(dtype);
    for (size_t d = shape.size(); d-- > 0;) {
      out.shape[d] = shape[d];
      out.strides[d] = stride;
      stride *= shape[d];
    }
    auto* array = static_cast<Counted*>(std::malloc(sizeof(Counted)));
    *array = {std::malloc(static_cast<size_t>(stride) + 64), 1};
    out.data = static_cast<std::byte*>(array->memory);
    out.owner = array;
    ++live;
    return true;
  }

  bool call(const runtime::HostCall& call, std::span<BufferView> results) override {
    expect_arrays(call.arrays);
    for (const BufferView& result : results) EXPECT_EQ(result.owner, nullptr);
    return function && function(call, results);
  }
  bool call_into(const runtime::HostCall& call, std::span<const BufferView> into) override {
    expect_arrays(call.arrays);
    expect_arrays(into);
    return writer && writer(call, into);
  }
  void retain(HostValue value) override {
    EXPECT_TRUE(locked);
    EXPECT_GT(static_cast<Counted*>(value)->references, 0);
    ++static_cast<Counted*>(value)->references;
  }
  void release(HostValue value) override {
    EXPECT_TRUE(locked);
    auto* array = static_cast<Counted*>(value);
    ASSERT_GT(array->references, 0);
    if (--array->references > 0) return;
    std::free(array->memory);
    std::free(array);
    --live;
  }
  void unlock() override {
    EXPECT_TRUE(locked);
    locked = false;
    ++unlocked;
  }
  void lock() override {
    EXPECT_FALSE(locked);
    locked = true;
  }

 private:
  void expect_arrays(std::span<const BufferView> arrays) {
    EXPECT_TRUE(locked);
    for (const BufferView& array : arrays) {
      ASSERT_NE(array.owner, nullptr) << "the host was given a temporary";
      EXPECT_GT(static_cast<Counted*>(array.owner)->references, 0);
    }
  }

  struct Counted {
    void* memory;
    int64_t references;
  };
};

// Applies f(byte offset in the strided view, byte offset in the dense array) to every element.
template <typename F>
void each_element(const BufferView& view, F f) {
  const auto rank = static_cast<size_t>(view.rank);
  int64_t dense = 0;
  core::for_each_element({view.shape, rank}, {view.strides, rank}, [&](int64_t strided) {
    f(strided, dense);
    dense += core::byte_size(view.dtype);
  });
}

inline core::Array to_array(const BufferView& view) {
  core::Array array = core::make_array(view.dtype, {view.shape, view.shape + view.rank});
  const auto bytes = static_cast<size_t>(core::byte_size(view.dtype));
  each_element(view, [&](int64_t from, int64_t to) {
    std::memcpy(array.data.data() + to, view.data + from, bytes);
  });
  return array;
}

// A host array with these elements. `layout` picks the strides: 0 C order, 1 reversed order of
// axes, 2 gaps between elements, 3 negative strides.
inline BufferView to_buffer(FakeHost& host, const core::Array& array, int layout) {
  std::vector<int64_t> padded = array.shape;
  if (layout == 1) padded = {array.shape.rbegin(), array.shape.rend()};
  if (layout == 2) {
    for (int64_t& size : padded) size = size * 2 + 1;
  }
  BufferView view;
  EXPECT_TRUE(host.allocate(array.dtype, padded, view));
  for (int d = 0; d < view.rank; ++d) view.shape[d] = array.shape[static_cast<size_t>(d)];
  if (layout == 1) std::reverse(view.strides, view.strides + view.rank);
  if (layout == 2) {
    for (int d = 0; d < view.rank; ++d) view.strides[d] *= 2;
  }
  if (layout == 3) {
    for (int d = 0; d < view.rank; ++d) {
      view.data += std::max<int64_t>(view.shape[d] - 1, 0) * view.strides[d];
      view.strides[d] = -view.strides[d];
    }
  }
  const auto bytes = static_cast<size_t>(core::byte_size(view.dtype));
  each_element(view, [&](int64_t to, int64_t from) {
    std::memcpy(view.data + to, array.data.data() + from, bytes);
  });
  return view;
}

}  // namespace dvm::test
