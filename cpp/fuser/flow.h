// Who needs whom. Scalars and broadcasts are never worth a trip through memory: each Region that
// uses one makes its own ("inlined"), so edges run between the nodes that remain.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace dvm::fuser {

struct NodeFlow {
  bool live = false;
  bool scalar = false;                  // a constant, a Python number or a size
  bool computed = false;                // belongs to some Region
  bool in_memory = false;               // an output, or an operand of a view, whole op or call
  std::vector<core::Value> sources;     // tensors it reads, looking through inlined broadcasts
  std::vector<core::Value> readers;     // computed nodes whose sources hold it
  std::vector<core::Value> broadcasts;  // inlined ones between it and its sources
  std::vector<core::Value> after;       // all nodes that must have run before it
};

class Flow {
 public:
  explicit Flow(const core::Graph& graph);

  const NodeFlow& operator[](core::Value v) const { return nodes_[static_cast<size_t>(v)]; }
  // The node whose memory v is: v itself unless it is a view. The results of a call may share
  // theirs.
  core::Value root(core::Value v) const;
  bool is_scalar_source(core::Value v) const { return (*this)[v].scalar; }

 private:
  NodeFlow& at(core::Value v) { return nodes_[static_cast<size_t>(v)]; }
  void mark_live();
  void mark_in_memory();
  void trace(core::Value v);
  void look_through(core::Value v, core::Value operand);
  void order_sizes();
  void order_calls();
  void order_leaves();
  void order_updates();
  const std::vector<core::Value>& reads(core::Value v) const;

  const core::Graph& graph_;
  std::vector<NodeFlow> nodes_;
};

// Whether a node multiplies matrices, and may read the operand of a broadcast in its place: a
// product where that only repeats matrices, an attention of any array.
bool reads_through(const core::Graph& graph, const core::Node& product, core::Value v);

// Views, whole ops and calls are steps of the program by themselves.
bool is_own_step(core::Op op);

// Every Dim a node mentions.
std::vector<core::Dim> dims_of(const core::Node& node);

}  // namespace dvm::fuser
