// The rules of nodes that have bodies: what a body is given and gives fits the node in element type
// and rank. Sizes are read off the arrays at each trip, as those of arguments are; what does not
// fit then is found as the graph runs.
#pragma once

#include "core/graph/graph.h"

namespace dvm::core {

// Each throws GraphError or DtypeError at the location of `node`.
void check_bodies(const Graph& graph, const Node& node);  // of a loop or branch
void check_body_result(const Graph& graph, const Node& owner, int index, const Node& node);
void check_leave(const Graph& graph, const Node& node);
void verify_nodes(const Graph& graph);  // in verify.cpp
void verify_body(const Node& owner, const Graph& body);
// A leave stands where it may, and nothing uses its value.
void verify_leaves(const Graph& graph, bool allowed);

// How many of a loop's operands are initial values of what is carried.
inline size_t carried_of(const Node& loop) { return static_cast<size_t>(loop.attrs.results - 1); }

// The words before the bodies of a loop or branch in text; a match has its cases.
std::span<const std::string_view> body_words(Op op);

// Builders of all that belongs to such a node: symbols that no argument of a body tells are handed
// in, and each result has a node. A size of a result is that of the initial value, or of the one
// body, where nothing gives it another; else it is a new symbol. Return the results, of a loop the
// number of trips first.
std::vector<Value> add_loop(Graph& graph, Graph body, std::span<const Value> carried,
                            std::span<const Value> used, LoopForm form = {}, Loc loc = {});
std::vector<Value> add_branch(Graph& graph, Value condition, Graph then, Graph otherwise,
                              std::span<const Value> used, Loc loc = {});

}  // namespace dvm::core
