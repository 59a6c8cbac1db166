// Chains of operations that may be put together in any way: sums and differences, products and
// quotients, and what else associates. That is so of real numbers, and of floats but for bits.
#pragma once

#include <optional>
#include <utility>

#include "core/graph/graph.h"
#include "core/rewrite/laws.h"
#include "core/rewrite/sign.h"

namespace dvm::core {

// A value of a chain, and how it stands there; `times`: so many factors of it.
struct ChainPart {
  Value value = -1;
  Sign sign = {};
  int times = 1;
};

// What a node of the chains of `head` is put together of; none where it is no such node. Chains are
// known by the op that adds to them: add of sums, mul of products.
std::optional<std::pair<ChainPart, ChainPart>> parts_of(const Graph& graph, Op head, Value v);

// What a value is but for a sign; none where it has none.
std::optional<ChainPart> without_sign(const Graph& graph, Value v);

// The op that puts a part behind a chain.
Op joining(Op head, Sign sign);

}  // namespace dvm::core
