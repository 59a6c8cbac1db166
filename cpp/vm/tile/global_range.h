// What operands of a Program that are one tensor touch of it.
#pragma once

#include <algorithm>

#include "core/math/byte_range.h"
#include "vm/isa/program.h"

namespace dvm::vm {

// Besides what was before; nothing was while the Global is empty.
inline void include(const core::ByteRange& range, DType dtype, Global& global) {
  const bool first = global.low == global.high;
  global.low = first ? range.low : std::min(global.low, range.low);
  global.high = first ? range.high : std::max(global.high, range.high);
  global.dtype = dtype;
}

}  // namespace dvm::vm
