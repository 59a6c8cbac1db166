// Values of a Region that may raise a status flag, each as the one output of a Kernel of its own:
// for calls that have no elements for the Region, but some for these (execute/left_out.h). Few
// programs ever ask, so they are made when one does, and then stay.
#pragma once

#include <mutex>
#include <vector>

#include "core/graph/region.h"
#include "vm/tile/kernel.h"

namespace dvm::runtime {

struct LeftOutKernel {
  core::Value value;  // of the Region's body
  vm::Kernel kernel;
};

class LeftOutKernels {
 public:
  // Of that Region, always the same one.
  const std::vector<LeftOutKernel>& of(const core::Region& region) {
    std::call_once(made_, [&] { kernels_ = make(region); });
    return kernels_;
  }

 private:
  static std::vector<LeftOutKernel> make(const core::Region& region);

  std::once_flag made_;
  std::vector<LeftOutKernel> kernels_;
};

}  // namespace dvm::runtime
