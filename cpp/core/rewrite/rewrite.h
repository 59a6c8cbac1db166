// Replaces what patterns find in a Graph.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/rewrite/matcher.h"
#include "core/rewrite/pattern.h"

namespace dvm::core {

// A place that is replaced: values of the new Graph, and the node of the old one that it stands
// for.
struct Site {
  int pattern = 0;
  std::vector<Value> variables;  // in the new Graph
  std::vector<Value> operands;   // of a root of kind any_operands, in the new Graph
  std::vector<Type> types;       // of the roots
  Value root = -1;               // the first one, in the old Graph
  Loc loc;
};
// Appends what stands for the roots; none: they stay as they are.
using Replace = std::function<std::optional<std::vector<Value>>(Graph& graph, const Graph& old,
                                                                const Site& site)>;

struct RewriteOptions {
  // Whether what was made is looked at again. What never comes to an end fails then: at most this
  // many replacements per node of the Graph.
  bool again = false;
  int most_per_node = 10;
};

struct RewriteCounts {
  int replaced = 0, declined = 0, rounds = 0;
};

// Into `to`, an empty Graph over the same symbols. In each round, matches are taken from the
// outputs on, those that share no node; there are rounds until there is none. What nearly matched
// to the last node or two is told in `misses`. Throws PassError where there is no end, and where a
// replacement has another dtype or shape than what it replaces.
RewriteCounts rewrite(const Graph& from, const std::vector<Pattern>& patterns, Graph& to,
                      const Replace& replace, std::vector<Miss>& misses,
                      const RewriteOptions& options = {});

}  // namespace dvm::core
