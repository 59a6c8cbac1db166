// In which order strided elements lie in memory, whatever library they are of.
#pragma once

#include <cstdint>

#include "capture/library/axis_order.h"

namespace dvm::capture {

struct Strided {
  int rank;
  const int64_t *shape, *strides;  // strides in bytes
  int64_t item_bytes;
  bool is_contiguous;  // in C order, by the library's word

  bool is_empty() const;
};

// Whether that is plain to see, without a look at the strides. Up to two axes, no sum over one of
// no elements has an order.
inline bool is_in_c_order(const Strided& array) {
  return array.is_contiguous && (array.rank < 3 || !array.is_empty());
}

// The rank is at most core::kMaxRank.
AxisOrder order_of(const Strided& array);

// Whether the elements lie densely in this order. Where axes are of size 1 or 0, they may do so in
// several; of rank 2 nothing that is made of such an array tells which. Nothing does in one with
// repeated axes.
bool lies_in(const Strided& array, const AxisOrder& order);

}  // namespace dvm::capture
