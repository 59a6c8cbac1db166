// A Region: ops fused into one kernel, and the record of why. Its body is an ordinary Graph whose
// inputs are tensors of the enclosing program, so printing, parsing, verifying and evaluating a
// Region are those of a Graph.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace dvm::core {

struct Region {
  std::string name;  // "r0", stable within one Plan
  Graph body;
};

// One choice of a pass (fuse, split, guard, fallback ...), kept as data; logs, explain and tests
// read these records and nothing else.
struct Decision {
  std::string what;     // "fuse %3 -> r0"
  std::string verdict;  // "yes" | "no"
  std::string rule;     // stable id: "elementwise-same-space"
  std::string reason;   // for a person
  double cost = 0;      // bytes of global traffic that fusing saves, or would; 0: no meaning
  Loc loc;
};

}  // namespace dvm::core
