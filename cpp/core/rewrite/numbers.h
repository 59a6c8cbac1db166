// Constants of a Graph, as patterns see them.
#pragma once

#include <optional>

#include "core/graph/graph.h"
#include "core/rewrite/pattern.h"
#include "core/rewrite/sign.h"

namespace dvm::core {

// The constant that a value repeats, or is a cast of; none where it is computed.
std::optional<Value> constant_behind(const Graph& graph, Value v);

// The number that is repeated, or none.
std::optional<double> number_behind(const Graph& graph, Value v);

// An element of that dtype, rounded.
Scalar as_element(DType dtype, double number);

// Whether a constant is what a pattern's number is with this sign.
bool stands_for(const Node& constant, const PatternTerm& number, Sign sign);

}  // namespace dvm::core
