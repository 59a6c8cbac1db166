// What a Region without elements does not compute although NumPy does: in `log(y) * x`, where x has
// no rows, log(y) has elements and may raise a status flag, but no tile of the Region needs it.
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace dvm::runtime {

// One such value as a Region of its own, for the sizes of one call.
struct LeftOut {
  const vm::Kernel& kernel;   // the Region's, as long as that lives
  std::vector<int64_t> dims;  // values of kernel.dims
  core::DType dtype = core::DType::f32;
  std::vector<int64_t> shape;  // of its one output
};

// Whether one of Kernel::dims is a size of an array, not only a number that is computed with.
bool is_size(const vm::Kernel& kernel, size_t dim);

// `dims`: values of the Region's Kernel::dims.
inline bool is_empty(const vm::Kernel& kernel, const int64_t* dims) {
  for (size_t i = 0; i < kernel.dims.size(); ++i) {
    if (dims[i] == 0 && is_size(kernel, i)) [[unlikely]]
      return true;
  }
  return false;
}

// Values that may raise a flag and have elements, of a Region that is_empty(). Rare, and slow.
std::vector<LeftOut> left_out(const PlanRegion& region, const int64_t* dims);

}  // namespace dvm::runtime
