// Going through arrays of any strides, for the ops of class whole: an odometer over the axes that
// an op does not work along, and the lines of elements along the one that it does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/host.h"

namespace dvm::runtime {

// Some axes of up to three arrays: what each moves per step, in bytes.
struct Walk {
  int rank = 0;
  int64_t shape[core::kMaxRank], strides[core::kMaxRank][3] = {};

  void add(int64_t extent, int64_t a, int64_t b = 0, int64_t c = 0) {
    shape[rank] = extent;
    strides[rank][0] = a;
    strides[rank][1] = b;
    strides[rank++][2] = c;
  }

  // Calls f(offsets) for every index; false as soon as f says so.
  template <typename F>
  bool run(F f) const {
    if (std::find(shape, shape + rank, 0) != shape + rank) return true;
    int64_t index[core::kMaxRank] = {}, at[3] = {};
    if (rank == 0) return f(at);
    const int last = rank - 1;
    while (true) {
      // Most of the time goes into the innermost axis.
      for (int64_t i = shape[last]; i > 0; --i) {
        if (!f(at)) return false;
        for (int k = 0; k < 3; ++k) at[k] += strides[last][k];
      }
      for (int k = 0; k < 3; ++k) at[k] -= strides[last][k] * shape[last];
      int d = last - 1;
      for (; d >= 0; --d) {
        for (int k = 0; k < 3; ++k) at[k] += strides[d][k];
        if (++index[d] < shape[d]) break;
        for (int k = 0; k < 3; ++k) at[k] -= strides[d][k] * shape[d];
        index[d] = 0;
      }
      if (d < 0) return true;
    }
  }
};

// Whether two arrays have the same sizes in all axes but one; -1: in all.
inline bool agree_but(int axis, const BufferView& a, const BufferView& b) {
  for (int d = 0; d < a.rank; ++d) {
    if (d != axis && a.shape[d] != b.shape[d]) return false;
  }
  return true;
}

template <typename T>
T& element(std::byte* data, int64_t offset) {
  return *reinterpret_cast<T*>(data + offset);
}
template <typename T>
const T& element(const std::byte* data, int64_t offset) {
  return *reinterpret_cast<const T*>(data + offset);
}

// The elements of a line of `a` along an axis, of what it gives, and of an array of conditions,
// which is `a` itself where there is none. Lines that lie side by side go together, one step along
// the axis at a time, for their elements are neighbours in memory.
struct Lines {
  Walk others;  // a, result, conditions
  int64_t count, side = 1;
  int64_t from, to, test;  // strides along the axis
  int64_t from_side = 0, to_side = 0, test_side = 0;

  Lines(const BufferView& a, const BufferView& result, int axis) : Lines(a, result, axis, a) {}
  Lines(const BufferView& a, const BufferView& result, int axis, const BufferView& tests)
      : count(a.shape[axis]),
        from(a.strides[axis]),
        to(result.strides[axis]),
        test(tests.strides[axis]) {
    const int last = a.rank - 1;
    for (int d = 0; d < a.rank; ++d) {
      if (d == axis) continue;
      if (d == last) {
        side = a.shape[d];
        from_side = a.strides[d];
        to_side = result.strides[d];
        test_side = tests.strides[d];
      } else {
        others.add(a.shape[d], a.strides[d], result.strides[d], tests.strides[d]);
      }
    }
  }
};

}  // namespace dvm::runtime
