#include "core/rewrite/selection.h"

#include <algorithm>
#include <utility>

namespace dvm::core {

namespace {

// Of what nearly matched, that is told which had at least so many nodes.
constexpr size_t kNear = 3;

bool may_begin(const Pattern& pattern, const Node& node) {
  const PatternTerm& root = pattern.terms[static_cast<size_t>(pattern.roots[0])];
  switch (root.kind) {
    case PatternTerm::Kind::split:
      return node.op == Op::slice;
    case PatternTerm::Kind::join:
      return node.op == Op::update;
    default:
      // What a chain may end with, there are several of.
      return node.op == root.op || (pattern.associates && associates(root.op) &&
                                    op_class(node.op) == OpClass::elementwise);
  }
}

}  // namespace

Selection::Selection(const Graph& graph, const std::vector<Pattern>& patterns,
                     const std::vector<Made>& made, std::vector<Miss>& misses)
    : graph_(graph), matcher_(graph), owner_(static_cast<size_t>(graph.size()), -1) {
  std::vector<Miss> nearest(static_cast<size_t>(graph.size()));
  std::vector<char> closed(static_cast<size_t>(graph.size()), 0);
  for (Value v = 0; v < graph.size(); ++v) {
    closed[static_cast<size_t>(v)] = made[static_cast<size_t>(v)] == Made::stands_for_match;
  }
  for (const bool wants_whole : {true, false}) {
    for (Value v = graph.size() - 1; v >= 0; --v) {
      const auto at = static_cast<size_t>(v);
      if (made[at] == Made::stands_for_match || owner_[at] >= 0) continue;
      if (wants_whole && made[at] != Made::no) continue;
      if (!matcher_.users().is_needed(v)) continue;
      Miss& miss = nearest[at];
      for (size_t k = 0; k < patterns.size(); ++k) {
        if (!may_begin(patterns[k], graph.node(v))) continue;
        auto match = wants_whole ? matcher_.match(patterns[k], v, miss)
                                 : matcher_.match_part(patterns[k], v, closed, miss);
        if (!match) continue;
        match->pattern = static_cast<int>(k);
        if (take(std::move(*match), miss)) break;
      }
    }
  }
  for (Value v = graph.size() - 1; v >= 0; --v) {
    Miss& miss = nearest[static_cast<size_t>(v)];
    if (owner(v) < 0 && miss.nodes >= kNear) misses.push_back(std::move(miss));
  }
}

bool Selection::take(Match match, Miss& miss) {
  const auto taken = [&](Value v) { return owner(v) >= 0; };
  if (std::ranges::any_of(match.inside, taken)) return false;  // the next round has it
  if (const char* reason = in_between(match)) {
    miss = {match.roots[0], match.roots[0], "in-between", reason, match.inside.size()};
    return false;
  }
  for (const Value v : match.inside) {
    owner_[static_cast<size_t>(v)] = static_cast<int>(matches_.size());
  }
  matches_.push_back(std::move(match));
  return true;
}

// Why roots cannot be made at once, all of them.
const char* Selection::in_between(const Match& match) const {
  if (match.roots.size() == 1) return nullptr;
  const auto [first, last] = std::ranges::minmax(match.roots);
  std::vector<char> behind(static_cast<size_t>(last - first + 1), 0);
  for (Value v = first; v <= last; ++v) {
    char& is_behind = behind[static_cast<size_t>(v - first)];
    is_behind = std::ranges::find(match.roots, v) != match.roots.end();
    for (const Value operand : graph_.node(v).inputs) {
      if (operand >= first && behind[static_cast<size_t>(operand - first)]) is_behind = 1;
    }
    if (!is_behind) continue;
    if (op_class(graph_.node(v).op) == OpClass::opaque) return "a call needs one of the results";
    if (std::ranges::find(match.variables, v) != match.variables.end()) {
      return "one of the results is needed to compute the others";
    }
  }
  return nullptr;
}

}  // namespace dvm::core
