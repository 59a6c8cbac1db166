#include "runtime/functions/top_k.h"

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/ops/dtype.h"
#include "core/ops/half.h"
#include "runtime/whole/walk.h"

namespace dvm::runtime {

namespace {

// What an element is compared as.
template <typename T>
auto compared(T value) {
  if constexpr (core::AnyHalf<T>) {
    return core::to_float(value);
  } else {
    return value;
  }
}

// Strictly greater, where NaN is greater than all numbers.
template <typename T>
bool is_greater(T a, T b) {
  return a > b || (a != a && b == b);
}

template <core::DType D>
void sort_lines(const BufferView& x, BufferView& values, BufferView& places, int axis,
                bool is_largest) {
  struct Item {
    decltype(compared(core::Storage<D>{})) key;
    core::Storage<D> value;
    int64_t place;
  };
  const int64_t size = x.shape[axis], count = values.shape[axis];
  std::vector<Item> items(static_cast<size_t>(size));
  const auto before = [&](const Item& a, const Item& b) {
    const bool is_first = is_largest ? is_greater(a.key, b.key) : is_greater(b.key, a.key);
    const bool is_last = is_largest ? is_greater(b.key, a.key) : is_greater(a.key, b.key);
    return is_first || (!is_last && a.place < b.place);
  };
  Walk walk;
  for (int d = 0; d < x.rank; ++d) {
    if (d != axis) walk.add(x.shape[d], x.strides[d], values.strides[d], places.strides[d]);
  }
  walk.run([&](const int64_t* at) {
    for (int64_t i = 0; i < size; ++i) {
      const auto value = element<core::Storage<D>>(x.data, at[0] + i * x.strides[axis]);
      items[static_cast<size_t>(i)] = {compared(value), value, i};
    }
    std::partial_sort(items.begin(), items.begin() + count, items.end(), before);
    for (int64_t i = 0; i < count; ++i) {
      const Item& item = items[static_cast<size_t>(i)];
      element<core::Storage<D>>(values.data, at[1] + i * values.strides[axis]) = item.value;
      element<int64_t>(places.data, at[2] + i * places.strides[axis]) = item.place;
    }
    return true;
  });
}

}  // namespace

bool top_k(const HostCall& call, std::span<BufferView> results, HostCalls& host) {
  const bool is_called_so = call.arrays.size() == 1 && call.sizes.size() == 3 &&
                            results.size() == 2 && call.sizes[0] >= 0 &&
                            call.sizes[0] < call.arrays[0].rank;
  if (!is_called_so) core::fail(core::ErrorCode::host_call, "top_k of other arguments");
  const BufferView& x = call.arrays[0];
  const auto axis = static_cast<int>(call.sizes[0]);
  const int64_t count = call.sizes[1];
  if (count < 0 || count > x.shape[axis]) {
    core::fail(core::ErrorCode::host_call, "top_k of " + std::to_string(count) + " among " +
                                               std::to_string(x.shape[axis]) + " elements");
  }
  std::vector<int64_t> shape(x.shape, x.shape + x.rank);
  shape[static_cast<size_t>(axis)] = count;
  if (!host.allocate(x.dtype, shape, results[0])) return false;
  if (!host.allocate(core::DType::i64, shape, results[1])) return false;
  core::dispatch(x.dtype, [&]<core::DType D>() {
    sort_lines<D>(x, results[0], results[1], axis, call.sizes[2] != 0);
  });
  return true;
}

}  // namespace dvm::runtime
