// Who needs a value of a Graph, and which values are the same.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace dvm::core {

inline constexpr Value kCaller = -2;  // who called the Graph, as a user of its results

class Users {
 public:
  explicit Users(const Graph& graph) : users_(static_cast<size_t>(graph.size())) {
    for (const Value v : graph.outputs) users_[static_cast<size_t>(v)].push_back(kCaller);
    for (Value v = graph.size() - 1; v >= 0; --v) {
      // What nobody uses needs nothing, but for a call.
      if (!is_needed(v) && op_class(graph.node(v).op) != OpClass::opaque) continue;
      for (const Value operand : graph.node(v).inputs) {
        users_[static_cast<size_t>(operand)].push_back(v);
      }
    }
  }
  const std::vector<Value>& of(Value v) const { return users_[static_cast<size_t>(v)]; }
  bool is_needed(Value v) const { return !of(v).empty(); }

 private:
  std::vector<std::vector<Value>> users_;
};

}  // namespace dvm::core
