// The order in which several ways are tried: the likely one first, then the others as they come.
#pragma once

#include <cstddef>

namespace dvm::capture {

inline size_t likely_first(size_t k, size_t likely) {
  if (k == 0) return likely;
  return k <= likely ? k - 1 : k;
}

}  // namespace dvm::capture
