#include <algorithm>

#include "core/passes/passes.h"
#include "fuser/fuse.h"

namespace dvm::fuser {

using core::Op;
using core::Value;

namespace {

// A slice of whole rows is as dense as what it is a slice of.
bool keeps_rows(const core::Graph& graph, const core::Node& slice) {
  const core::Shape& from = graph.type(slice.inputs[0]).shape;
  for (size_t d = 0; d < from.size(); ++d) {
    if (slice.attrs.steps[d] != 1) return false;
    if (d > 0 && slice.type.shape[d] != from[d]) return false;
  }
  return true;
}

}  // namespace

core::Graph pass_dense_reshapes(const core::Graph& graph) {
  std::vector<char> dense(static_cast<size_t>(graph.size()), 1);
  core::Rewriter rewriter(graph);
  for (Value v = 0; v < graph.size(); ++v) {
    const core::Node& node = graph.node(v);
    const bool from_dense = node.inputs.empty() || dense[static_cast<size_t>(node.inputs[0])];
    if (core::op_class(node.op) == core::OpClass::view && node.op != Op::reshape) {
      const bool keeps = node.op == Op::slice && from_dense && keeps_rows(graph, node);
      dense[static_cast<size_t>(v)] = keeps ? 1 : 0;
    }
    core::Node mapped = rewriter.mapped(node);
    if (node.op == Op::reshape && !from_dense) {
      mapped.inputs[0] =
          rewriter.graph().broadcast(mapped.inputs[0], graph.type(node.inputs[0]).shape, node.loc);
    }
    rewriter.set_next(rewriter.graph().append(std::move(mapped)));
  }
  return rewriter.finish();
}

}  // namespace dvm::fuser
