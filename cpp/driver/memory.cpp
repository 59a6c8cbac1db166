#include "driver/memory.h"

#include <algorithm>

namespace dvm::driver {

using core::Op;
using core::Value;

MemoryMap::MemoryMap(const core::Graph& graph, const fuser::Fusion& fusion)
    : graph_(graph),
      memories_(static_cast<size_t>(graph.size())),
      in_place_(static_cast<size_t>(graph.size()), 0) {
  for (Value v = 0; v < graph.size(); ++v) memories_[static_cast<size_t>(v)].last = v;
  find_uses(fusion);
  // In the order of execution, so that each update sees what the ones before it have taken over.
  for (size_t k = 0; k < fusion.order.size(); ++k) {
    const Value v = fusion.order[k].node;
    if (fusion.order[k].region < 0 && graph.node(v).op == Op::update) take_over(v, k);
  }
}

Value MemoryMap::root(Value v) const {
  while (core::op_class(graph_.node(v).op) == core::OpClass::view || in_place(v)) {
    v = graph_.node(v).inputs[0];
  }
  return v;
}

void MemoryMap::find_uses(const fuser::Fusion& fusion) {
  for (size_t k = 0; k < fusion.order.size(); ++k) {
    const fuser::Unit& unit = fusion.order[k];
    if (unit.region >= 0) {
      const fuser::FusedRegion& region = fusion.regions[static_cast<size_t>(unit.region)];
      for (Value v : region.inputs) at(v).last_use = k;
      for (Value v : region.outputs) at(v).last_use = k;
      continue;
    }
    at(unit.node).last_use = k;
    for (Value v : graph_.node(unit.node).inputs) {
      at(v).last_use = k;
      if (graph_.node(unit.node).op == Op::call) at(v).to_host = at(v).called = true;
    }
  }
  for (Value v : graph_.outputs) {
    at(v).to_host = true;
    at(v).last_use = fusion.order.size();
  }
}

void MemoryMap::take_over(Value update, size_t position) {
  const core::Node& node = graph_.node(update);
  Memory& memory = at(node.inputs[0]);
  const Op origin = graph_.node(root(node.inputs[0])).op;
  // The operand has to be all of memory that the Plan allocates, as it is laid out.
  const bool ours = origin != Op::input && origin != Op::call && !memory.called;
  if (!ours || memory.last != node.inputs[0] || memory.last_use != position ||
      root(node.inputs[1]) == root(node.inputs[0])) {
    return;
  }
  const Memory& own = at(update);
  memory = {.to_host = memory.to_host || own.to_host,
            .called = own.called,
            .last_use = std::max(position, own.last_use),
            .last = update};
  in_place_[static_cast<size_t>(update)] = 1;
}

}  // namespace dvm::driver
