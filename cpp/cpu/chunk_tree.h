// The part of a reduction above the chunks of core/sum_order.h, walked once per 512 elements:
// compiled once for all types, reductions and SIMD levels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/sum_order.h"

namespace dvm::cpu {

// The totals of outputs that go through the additions in step, whatever their type is.
template <int kBytes>
struct Totals {
  alignas(8) std::byte bytes[kBytes];
  template <typename A>
  A* as() {
    return reinterpret_cast<A*>(bytes);
  }
};

// core::combine_chunks over functions of one type.
template <int kBytes>
struct ChunkTree {
  using T = Totals<kBytes>;
  void (*chunk)(const void* context, int64_t begin, int64_t count, T& totals);
  void (*combine)(T& totals, T& more);
  const void* context;

  [[gnu::noinline]] T total(int64_t size) const {
    return core::combine_chunks<T>(
        size,
        [this](int64_t begin, int64_t count) {
          T totals;
          chunk(context, begin, count, totals);
          return totals;
        },
        [this](T x, T y) {
          combine(x, y);
          return x;
        });
  }
};

}  // namespace dvm::cpu
