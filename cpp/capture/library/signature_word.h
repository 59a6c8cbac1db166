// The words of signatures (replay/signature.h), those of arrays as their libraries write them.
//
// Of an array, from bit 0: tag (8 bits) | dtype (8) | rank (4) | layout (4) | axes, three bits each
// (24) | repeated axes, one bit each (8) | overlapping (1) | what the library says besides (4) |
// the library's number (3). Of one that the core has no type for: tag (8) | rank (8) | flags, ... |
// the library's number (3).
#pragma once

#include <cstdint>

#include "capture/library/array_view.h"
#include "capture/library/axis_order.h"
#include "core/ops/dtype.h"

namespace dvm::capture {

using Signature = uint64_t;

enum class Argument : uint8_t { array, foreign, floating, integer, object, other };

inline constexpr int kOwnBit = 57, kLibraryBit = 61;

inline Argument argument_of(Signature s) { return static_cast<Argument>(s & 0xff); }
// Of an array:
inline core::DType dtype_of(Signature s) { return static_cast<core::DType>(s >> 8 & 0xff); }
inline int rank_of(Signature s) { return static_cast<int>(s >> 16 & 0xf); }
inline Layout layout_of(Signature s) { return static_cast<Layout>(s >> 20 & 0xf); }
AxisOrder order_of(Signature s);
inline unsigned own_bits_of(Signature s) { return static_cast<unsigned>(s >> kOwnBit & 0xf); }
// Of an array, foreign or not:
inline size_t library_number_of(Signature s) { return s >> kLibraryBit; }

// Of an array in C order.
inline Signature dense_word(size_t library, core::DType dtype, int rank) {
  return static_cast<Signature>(Argument::array) | static_cast<Signature>(dtype) << 8 |
         static_cast<Signature>(rank) << 16 | static_cast<Signature>(library) << kLibraryBit;
}
Signature array_word(size_t library, core::DType dtype, int rank, const AxisOrder& order);

// Rank, alignment and contiguity are all a host function's result may depend on.
inline Signature foreign_word(size_t library, int rank, uint32_t flags) {
  return static_cast<Signature>(Argument::foreign) | static_cast<Signature>(rank) << 8 |
         static_cast<Signature>(flags & (kCContiguous | kFContiguous | kAligned)) << 16 |
         static_cast<Signature>(library) << kLibraryBit;
}

}  // namespace dvm::capture
