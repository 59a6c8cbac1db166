// An array of any library as the core sees it: where its elements are, and what may be done with
// them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dvm::capture {

// The values are those of the first library's own flags where it has them, so that they need no
// translation.
enum ArrayFlag : uint32_t {
  kCContiguous = 0x1,
  kFContiguous = 0x2,
  kOwnsMemory = 0x4,
  kHoldsObjects = 0x8,  // references to Python's objects
  kAligned = 0x100,
  kWriteable = 0x400,
  kWarnsWhenWritten = 0x80000000,  // a write is told to the program
};

struct ArrayView {
  std::byte* data;
  const int64_t *shape, *strides;  // strides in bytes; both live as long as the array
  int64_t item_bytes;
  int32_t rank;
  uint32_t flags;        // ArrayFlag
  int32_t kind;          // the library's own number of what the elements are
  const void* elements;  // the library's own record of that: the same one, the same elements

  bool has(uint32_t wanted) const { return (flags & wanted) == wanted; }
  int64_t size() const {
    int64_t size = 1;
    for (int d = 0; d < rank; ++d) size *= shape[d];
    return size;
  }
  int64_t bytes() const { return item_bytes * size(); }
  bool has_shape_of(const ArrayView& other) const {
    return rank == other.rank && std::equal(shape, shape + rank, other.shape);
  }
};

}  // namespace dvm::capture
