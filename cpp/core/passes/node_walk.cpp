#include "core/passes/node_walk.h"

#include <string>
#include <utility>

#include "core/error.h"

namespace dvm::core {

namespace {

constexpr int64_t kMostPerNode = 10;
constexpr int kDeepest = 500;

}  // namespace

Graph NodeWalk::run(Replace replace) {
  replace_ = std::move(replace);
  for (old_ = 0; old_ < from_.size(); ++old_) {
    const int made = graph_.size();
    const Node& node = from_.node(old_);
    Value value = again(rewriter_.mapped(node));
    // What somebody looks at the memory of is replaced by new memory alone.
    if (value < made && is_looked_at(old_)) value = graph_.append(rewriter_.mapped(node));
    rewriter_.set_next(value);
  }
  return rewriter_.finish();
}

Value NodeWalk::again(Node node) {
  ++counts_.visits;
  if (++depth_ > kDeepest) refuse(node.loc);
  const std::optional<Value> made = replace_(node);
  --depth_;
  if (!made) return graph_.append(std::move(node));
  if (++counts_.replaced > kMostPerNode * (from_.size() + 10)) refuse(node.loc);
  return *made;
}

void NodeWalk::refuse(Loc loc) const {
  fail(ErrorCode::pass_failed, loc,
       "the pass " + std::string(pass_) +
           " comes to no end: " + std::to_string(counts_.replaced + depth_ - 1) +
           " replacements in a graph of " + std::to_string(from_.size()) + " nodes");
}

bool NodeWalk::is_looked_at(Value old) {
  if (looked_at_.empty()) looked_at_ = looked_at(from_);
  return looked_at_[static_cast<size_t>(old)] != 0;
}

}  // namespace dvm::core
