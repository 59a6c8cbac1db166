// What a Graph says of which sizes repeat to which.
#pragma once

#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace dvm::core {

// Each call checks what a broadcast of the Graph repeats, so one that goes on has sizes that fit,
// whatever is not known of the symbols.
class Repeats {
 public:
  explicit Repeats(const Graph& graph);

  // Whether NumPy repeats one shape to the other, wherever both have been made.
  bool fit(const Shape& from, const Shape& to) const;

 private:
  bool fits(Dim part, Dim whole) const;

  std::vector<std::pair<Dim, Dim>> known_;  // a size, and what it is repeated to
};

}  // namespace dvm::core
