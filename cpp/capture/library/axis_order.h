// In which order the elements of an array lie in memory, as far as it holds for every size: what
// the memory order of results is derived from.
#pragma once

#include <array>
#include <cstdint>

#include "core/graph/graph.h"

namespace dvm::capture {

// c_contiguous         by the library's word, its axes in C order
// ordered              axes lie in C order, but strided
// permuted_contiguous  dense in another order of the axes, e.g. Fortran's
// permuted             any other
enum class Layout : uint8_t { c_contiguous, ordered, permuted_contiguous, permuted };
const char* to_string(Layout layout);

// Logical axes from outermost to innermost in memory. Axes whose place cannot be told (size 1,
// stride 0) keep C order; the sign of a stride does not matter.
struct AxisOrder {
  Layout layout = Layout::c_contiguous;
  std::array<int8_t, core::kMaxRank> axes = {};
  // Axes of more than one element whose stride is 0: NumPy's copies in K order put these innermost,
  // unlike its elementwise results, whose order they leave to the other operands. One bit an axis.
  uint8_t repeated = 0;
  // Whether a step along some axis stays within what the axes inside of it cover, as in windows:
  // then a view (transposed, of every second element) may have another order than the array's own
  // says.
  bool overlapping = false;
};

}  // namespace dvm::capture
