#include "fuser/factors.h"

#include <algorithm>

namespace dvm::fuser {

using core::OpClass;
using core::Value;

namespace {

// Anything at all that reads v, broadcasts and views among it.
int64_t count_uses(const core::Graph& graph, Value v) {
  int64_t uses = std::ranges::count(graph.outputs, v);
  for (const core::Node& node : graph.nodes()) uses += std::ranges::count(node.inputs, v);
  return uses;
}

}  // namespace

std::optional<Refusal> refuse_factor(const core::Graph& graph, const Grouping& groups,
                                     Value product) {
  const Value factor = graph.node(product).inputs[0];
  if (count_uses(graph, factor) > 1)
    return Refusal{"factor-shared", "the factor is needed besides, and so lies in memory"};
  const int group = groups.group_of(factor);
  const auto is_made_alone = [&](Value v) {
    return core::op_class(graph.node(v).op) == OpClass::elementwise &&
           (v == factor || !groups.leaves(v, group));
  };
  if (!std::ranges::all_of(groups.members(group), is_made_alone)) {
    return Refusal{"factor-steps",
                   "what makes the factor is more than elementwise steps for it alone"};
  }
  return std::nullopt;
}

}  // namespace dvm::fuser
