// An array of any library as the core sees it: where its elements are, and what may be done with
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "capture/py.h"
#include "core/ops/dtype.h"
#include "runtime/host.h"

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

// One by one, for these are few.
inline bool same_axes(int rank, const int64_t* a, const int64_t* b) {
  for (int d = 0; d < rank; ++d) {
    if (a[d] != b[d]) return false;
  }
  return true;
}
// Likewise, for a view has room for more axes than most arrays have.
inline void copy_axes(int rank, const int64_t* shape, const int64_t* strides,
                      runtime::BufferView& to) {
  for (int d = 0; d < rank; ++d) {
    to.shape[d] = shape[d];
    to.strides[d] = strides[d];
  }
}

// As far as it can be read from outside (array_fields.h).
struct ArrayLook {
  std::byte* data;
  const int64_t *shape, *strides;  // strides in bytes; both live as long as the array
  int32_t rank;
  uint32_t flags;        // ArrayFlag, those of the library's own flags; maybe others
  const void* elements;  // the library's own record of what they are: the same one, the same

  bool has(uint32_t wanted) const { return (flags & wanted) == wanted; }
  int64_t size() const {
    int64_t size = 1;
    for (int d = 0; d < rank; ++d) size *= shape[d];
    return size;
  }
  bool has_shape(std::span<const int64_t> other) const {
    return rank == std::ssize(other) && same_axes(rank, shape, other.data());
  }
  bool has_shape_of(const ArrayLook& other) const {
    return rank == other.rank && same_axes(rank, shape, other.shape);
  }
  bool may_be_written() const { return (flags & (kWriteable | kWarnsWhenWritten)) == kWriteable; }
  // As the memory that a Plan reads; `owner` is set without a new reference.
  void read(PyObject* owner, core::DType dtype, runtime::BufferView& view) const {
    view.data = data;
    view.owner = owner;
    view.dtype = dtype;
    view.rank = rank;
    copy_axes(rank, shape, strides, view);
  }
};

struct ArrayView : ArrayLook {
  int64_t item_bytes;
  int32_t kind;  // the library's own number of what the elements are

  int64_t bytes() const { return item_bytes * size(); }
};

}  // namespace dvm::capture
