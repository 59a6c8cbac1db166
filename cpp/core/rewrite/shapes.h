// Whether a match may forget the broadcasts and reshapes within. A pattern has an algebra of its
// own: operands of other shapes repeat as NumPy has it, and a reduction keeps its axes. What the
// program did has to be the same.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace dvm::core {

// What `v` is broadcast from.
inline Value before_broadcasts(const Graph& graph, Value v) {
  while (graph.node(v).op == Op::broadcast) v = graph.node(v).inputs[0];
  return v;
}

bool adds_or_drops_ones(const Graph& graph, const Node& reshape);
// Whether each value of the operand is one of the result.
bool only_widens(const Graph& graph, const Node& cast);

// Whether the pattern's algebra gives the root what the program does; `inside` are the nodes that a
// match looks at, its variables and constants are not.
bool means_the_same(const Graph& graph, Value root, const std::vector<Value>& inside);

// The shape that the pattern's algebra gives what is computed of these values, elementwise, without
// leading axes of size 1; none where their axes are no longer the program's.
std::optional<Shape> shape_of_all(const Graph& graph, const std::vector<Value>& values,
                                  const std::vector<Value>& inside);

// The shape that NumPy repeats both to.
Shape repeated(Shape a, Shape b);

}  // namespace dvm::core
