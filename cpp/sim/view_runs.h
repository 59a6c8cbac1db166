// The elements of a view as runs that lie one element behind the other in memory.
#pragma once

#include <span>

#include "vm/isa/program.h"

namespace dvm::sim {

// Calls f(place of the first element in the view, bytes from the view's start to it, elements).
template <typename F>
void for_each_view_run(std::span<const vm::ViewDim> dims, int64_t element, F f) {
  size_t outer = dims.size();  // dims in front of those of a run
  int64_t run = 1, runs = 1;
  while (outer > 0 && dims[outer - 1].stride == run * element) run *= dims[--outer].extent;
  for (size_t d = 0; d < outer; ++d) runs *= dims[d].extent;
  int64_t coord[core::kMaxRank] = {}, at = 0;
  for (int64_t k = 0; k < runs; ++k) {
    f(k * run, at, run);
    for (size_t d = outer; d-- > 0;) {
      at += dims[d].stride;
      if (++coord[d] != dims[d].extent) break;
      at -= coord[d] * dims[d].stride;
      coord[d] = 0;
    }
  }
}

}  // namespace dvm::sim
