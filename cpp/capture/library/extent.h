// The bytes between the first and the last that an array's elements touch.
#pragma once

#include "capture/library/array_view.h"
#include "runtime/host.h"

namespace dvm::capture {

struct Extent {
  const std::byte *begin, *end;  // equal where there are no elements
  bool meets(const Extent& other) const {
    return begin < end && other.begin < other.end && begin < other.end && other.begin < end;
  }
};

inline Extent extent_of(const std::byte* data, int64_t element_bytes, int rank,
                        const int64_t* shape, const int64_t* strides) {
  Extent extent{data, data + element_bytes};
  for (int d = 0; d < rank; ++d) {
    if (shape[d] == 0) return {data, data};
    const int64_t reach = (shape[d] - 1) * strides[d];
    (reach < 0 ? extent.begin : extent.end) += reach;
  }
  return extent;
}

inline Extent extent_of(const runtime::BufferView& view) {
  return extent_of(view.data, core::byte_size(view.dtype), view.rank, view.shape, view.strides);
}

inline Extent extent_of(const ArrayView& view) {
  return extent_of(view.data, view.item_bytes, view.rank, view.shape, view.strides);
}

}  // namespace dvm::capture
