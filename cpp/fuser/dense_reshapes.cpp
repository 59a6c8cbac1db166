#include <algorithm>

#include "core/passes/passes.h"
#include "fuser/fuse.h"

namespace dvm::fuser {

using core::Op;
using core::Value;

namespace {

// Whether each axis becomes neighbouring axes of its own, for all sizes: elements then lie as
// evenly apart in each of them as before, whatever lies between them.
bool only_splits_axes(const core::Graph& graph, const core::Shape& from, const core::Shape& to) {
  const core::Dim one = graph.dims().constant(1);
  size_t t = 0;
  for (const core::Dim axis : from) {
    core::Dim run = one;
    while (run != axis && t < to.size()) run = run * to[t++];
    if (run != axis) return false;
  }
  return std::all_of(to.begin() + static_cast<std::ptrdiff_t>(t), to.end(),
                     [one](core::Dim rest) { return rest == one; });
}

// A slice of whole rows is as dense as what it is a slice of, and one of a row, and so on inwards.
bool keeps_rows(const core::Graph& graph, const core::Node& slice) {
  const core::Dim one = graph.dims().constant(1);
  const core::Shape& from = graph.type(slice.inputs[0]).shape;
  bool is_one_row = true;  // of the axes so far
  for (size_t d = 0; d < from.size(); ++d) {
    const core::Dim size = slice.type.shape[d];
    if (size == one) continue;
    if (slice.attrs.steps[d] != 1 || (!is_one_row && size != from[d])) return false;
    is_one_row = false;
  }
  return true;
}

}  // namespace

core::Graph pass_dense_reshapes(core::Graph graph) {
  if (!core::has(graph, Op::reshape)) return graph;
  std::vector<char> dense(static_cast<size_t>(graph.size()), 1);
  core::Rewriter rewriter(graph);
  for (Value v = 0; v < graph.size(); ++v) {
    const core::Node& node = graph.node(v);
    core::Node mapped = rewriter.mapped(node);
    if (core::op_class(node.op) == core::OpClass::view) {
      const core::Shape& from = graph.type(node.inputs[0]).shape;
      bool keeps = dense[static_cast<size_t>(node.inputs[0])] != 0;
      if (node.op == Op::reshape && !keeps && !only_splits_axes(graph, from, node.type.shape)) {
        mapped.inputs[0] = rewriter.graph().broadcast(mapped.inputs[0], from, node.loc);
        keeps = true;
      } else if (node.op != Op::reshape) {
        keeps &= node.op == Op::slice && keeps_rows(graph, node);
      }
      dense[static_cast<size_t>(v)] = keeps ? 1 : 0;
    }
    rewriter.set_next(rewriter.graph().append(std::move(mapped)));
  }
  return rewriter.finish();
}

}  // namespace dvm::fuser
