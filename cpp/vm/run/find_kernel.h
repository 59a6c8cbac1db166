// Kernels that find where in rows of adjacent elements a value is, for what looks for positions
// outside of Programs (runtime/whole/by_kernels.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/ops/dtype.h"

namespace dvm::vm {

struct FindArgs {
  const std::byte* rows;  // m of them, of `size` elements each
  int64_t m, size;
  const std::byte* values;  // one for each row, which has it
  int64_t* places;          // of its first element that equals the value, or is NaN if that is
};
using FindKernel = void (*)(const FindArgs&) noexcept;

struct FindTable {
  FindKernel at[core::kDTypeCount] = {};
};

}  // namespace dvm::vm
