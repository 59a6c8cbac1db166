// Graph -> Graph passes. Each keeps the graph's inputs (op input and op scalar, unused ones too),
// the order of its calls, and shares its DimContext; the result passes verify(). One that finds
// nothing gives back what it was given: copying is most of what it would cost.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/graph/region.h"

namespace dvm::core {

// Drops what no output needs. Calls stay, and what is said of their results: what they do besides
// is unknown.
Graph pass_dead_code(Graph graph);

// The rules of simplify.def, operations on constants, casts of casts, views of views. What is
// replaced stays behind unused.
Graph pass_simplify(Graph graph);
struct WalkCounts;
Graph pass_simplify(const Graph& graph, WalkCounts& counts);

// Arithmetic with scalars before the reshape that drops the axes a reduction kept.
Graph pass_sink_reshapes(Graph graph);

// Softmax of a product, times another, becomes the op `attention`. Of halves where they are among
// `halves`, which are computed in f32 anyway. Records each, and each that something else prevents.
Graph pass_attention(Graph graph, DTypeSet halves, std::vector<Decision>& decisions);

// Nodes of equal op, operands, attributes and type become one, the first. Calls never merge.
Graph pass_cse(Graph graph);

// Products of f32 may multiply their factors so.
Graph pass_precision(Graph graph, Precision precision);

// Convolutions of padded arrays become those of arrays that have the zeros.
Graph pass_pad_windows(Graph graph);

// Of halves that a target computes in f32. Elementwise nodes and reductions do so, and such halves
// appear at inputs, outputs, arguments and results of calls, and casts the user wrote. What only
// moves them stays as it is.
Graph pass_widen_half(Graph graph, DTypeSet halves);

// Of a body: sizes that its arguments tell, where they are computed with, become `stored_dim`.
Graph pass_stored_dims(const Graph& body);
// These nodes of op `scalar`, which tell no size and are given to no call as numbers, become inputs
// of rank 0.
Graph stored_scalars(const Graph& graph, std::span<const Value> scalars);

// Sums of halves as cast to f32, sum, cast back: the same bits, and partial sums may be stored.
Graph pass_widen_sums(Graph graph);

bool has(const Graph& graph, Op op);

// Which nodes are results, or the memory that results are views of. The program made those one by
// one and may write to each, so that equal ones stay apart; and so do arrays it writes to itself.
std::vector<char> written_memory(const Graph& graph);

// The nodes whose memory somebody looks at: those, and what a view or a call reads. A value of
// another memory is no replacement for them: an argument of the Graph may be strided, and then has
// no reshapes.
std::vector<char> looked_at(const Graph& graph);

// Of each value the first one that is the same: the same op of the same values.
std::vector<Value> value_numbers(const Graph& graph);

// A graph under construction from an older one. map(v) is where the old value v went.
class Rewriter {
 public:
  explicit Rewriter(const Graph& from) : from_(from), graph_(from.shared_dims()) {
    map_.reserve(static_cast<size_t>(from.size()));
  }
  Graph& graph() { return graph_; }
  Value map(Value old) const { return map_[static_cast<size_t>(old)]; }

  // The old node with its operands mapped.
  Node mapped(const Node& node) const;
  // To be called once per old node, in order.
  void set_next(Value replacement) { map_.push_back(replacement); }
  void copy_next(const Node& node) { set_next(graph_.append(mapped(node))); }

  Graph finish();  // with the old graph's outputs, mapped

 private:
  const Graph& from_;
  Graph graph_;
  std::vector<Value> map_;
};

}  // namespace dvm::core
