// The part of a reduction above the chunks of core/ops/sum_order.h, walked once per 512 elements:
// compiled once for all types, reductions and SIMD levels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/ops/sum_order.h"

namespace dvm::cpu {

// The totals of outputs that go through the additions in step, whatever their type is.
template <int kBytes>
struct Totals {
  alignas(kBytes < 64 ? kBytes : 64) std::byte bytes[kBytes];
  template <typename A>
  A* as() {
    return reinterpret_cast<A*>(bytes);
  }
  template <typename A>
  const A* as() const {
    return reinterpret_cast<const A*>(bytes);
  }
};

// core::combine_chunks over functions of one type, for a single output.
struct ChunkTree {
  using Total = Totals<8>;
  void (*chunk)(const void* context, int64_t begin, int64_t count, Total& total);
  void (*combine)(Total& total, Total& more);
  const void* context;

  [[gnu::noinline]] Total total(int64_t size) const {
    return core::combine_chunks<Total>(
        size,
        [this](int64_t begin, int64_t count) {
          Total total;
          chunk(context, begin, count, total);
          return total;
        },
        [this](Total x, Total y) {
          combine(x, y);
          return x;
        });
  }
};

}  // namespace dvm::cpu
