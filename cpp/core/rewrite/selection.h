// Which matches of a Graph are replaced in one round.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"
#include "core/rewrite/matcher.h"
#include "core/rewrite/pattern.h"

namespace dvm::core {

// What a rewrite made, of each node. Nothing begins at what stands for a match, and no chain in it
// is taken apart. What joins that to the rest of a chain ends a chain that has other parts, maybe:
// one with fewer values than before, so there is an end to it.
enum class Made : uint8_t { no, stands_for_match, joins_rest };

// No node is in two of them. From the outputs on, those of whole values come first, and then those
// of parts of longer chains.
class Selection {
 public:
  Selection(const Graph& graph, const std::vector<Pattern>& patterns, const std::vector<Made>& made,
            std::vector<Miss>& misses);

  const std::vector<Match>& matches() const { return matches_; }
  int owner(Value v) const { return owner_[static_cast<size_t>(v)]; }  // -1: none

 private:
  bool take(Match match, Miss& miss);
  const char* in_between(const Match& match) const;

  const Graph& graph_;
  Matcher matcher_;
  std::vector<int> owner_;
  std::vector<Match> matches_;
};

}  // namespace dvm::core
