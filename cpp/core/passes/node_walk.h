// Passes that look at one node at a time. A walk goes over the nodes of a Graph in their order, so
// that the operands of each are what they will be; what uses a node that was replaced comes later
// in the same walk, and what a replacement is made of is looked at at once.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/passes/passes.h"

namespace dvm::core {

struct WalkCounts {
  int64_t visits = 0, replaced = 0;
};

class NodeWalk {
 public:
  // What stands for a node, whose operands are in graph(); none: it stays.
  using Replace = std::function<std::optional<Value>(const Node&)>;

  NodeWalk(const Graph& from, std::string_view pass)
      : from_(from), pass_(pass), rewriter_(from), graph_(rewriter_.graph()) {}

  // Throws PassError, with the name of the pass, where what it makes is never the last of it.
  Graph run(Replace replace);

  Graph& graph() { return graph_; }
  Value old() const { return old_; }  // the node of the old Graph that it is about
  const WalkCounts& counts() const { return counts_; }

  // Of a node that a replacement is made of: what stands for it, or itself, appended.
  Value again(Node node);

 private:
  [[noreturn]] void refuse(Loc loc) const;
  bool is_looked_at(Value old);

  const Graph& from_;
  const std::string_view pass_;
  Rewriter rewriter_;
  Graph& graph_;
  Replace replace_;
  std::vector<char> looked_at_;  // once somebody asks
  Value old_ = -1;
  int depth_ = 0;  // of what is made for what is made
  WalkCounts counts_;
};

}  // namespace dvm::core
