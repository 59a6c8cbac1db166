// The type rules of every op, shared by the builder and the verifier.
#pragma once

#include "core/graph/graph.h"

namespace dvm::core {

// The type the node must have. What the user chooses (the type of sources and calls, the dtype of a
// cast, the shape of a broadcast or view) is read from node.type. Checks arity, operands and
// attributes too; throws GraphError, DtypeError or ShapeError at node.loc. Inputs may refer to any
// node of the graph.
Type infer(const Graph& graph, const Node& node);

// "[s0, 4]"
std::string to_string(const Shape& shape);
// "f32[s0, 4]", or the name of a data type
std::string to_string(const Type& type);

}  // namespace dvm::core
