#include "driver/memory.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/graph/bind_symbols.h"
#include "runtime/execute/in_place.h"

namespace dvm::driver {

using core::Op;
using core::Value;

namespace {

// The symbols that results of calls tell, and no argument.
std::set<int> symbols_of_calls(const core::Graph& graph) {
  std::set<int> told, given;
  const auto add = [](std::set<int>& symbols, core::Dim dim) {
    const std::vector<int> found = core::symbols_of(dim);
    symbols.insert(found.begin(), found.end());
  };
  for (const core::Node& node : graph.nodes()) {
    if (core::op_class(node.op) == core::OpClass::opaque) {
      for (const core::Dim dim : node.type.shape) add(told, dim);
      if (core::defines_symbol(node)) add(told, node.attrs.size);
    } else if (node.op == Op::input) {
      for (const core::Dim dim : node.type.shape) {
        if (dim.is_symbol()) add(given, dim);
      }
    } else if (node.op == Op::scalar && node.attrs.size) {
      add(given, node.attrs.size);
    }
  }
  std::erase_if(told, [&](int symbol) { return given.contains(symbol); });
  return told;
}

bool depends_on(const core::Shape& dims, const std::set<int>& symbols) {
  return std::ranges::any_of(dims, [&](core::Dim dim) {
    return std::ranges::any_of(core::symbols_of(dim),
                               [&](int symbol) { return symbols.contains(symbol); });
  });
}

}  // namespace

MemoryMap::MemoryMap(const core::Graph& graph, const fuser::Fusion& fusion, std::vector<Value> own)
    : graph_(graph),
      own_(std::move(own)),
      of_(static_cast<size_t>(graph.size())),
      memories_(static_cast<size_t>(graph.size())),
      in_place_(static_cast<size_t>(graph.size()), 0),
      target_(static_cast<size_t>(graph.size()), -1),
      over_(static_cast<size_t>(graph.size()), -1) {
  for (Value v = 0; v < graph.size(); ++v) {
    const core::Node& node = graph.node(v);
    of(v) = core::op_class(node.op) == core::OpClass::view ? node.inputs[0] : v;
    memories_[static_cast<size_t>(v)].last = v;
  }
  find_uses(fusion);
  // In the order of execution, so that each update sees what the ones before it have taken over.
  for (size_t k = 0; k < fusion.order.size(); ++k) {
    const Value v = fusion.order[k].node;
    if (fusion.order[k].region < 0 && core::replaces_elements(graph.node(v).op)) take_over(v, k);
  }
  find_targets(fusion);
  for (size_t k = 0; k < fusion.order.size(); ++k) {
    const int32_t region = fusion.order[k].region;
    if (region >= 0) write_over(fusion.regions[static_cast<size_t>(region)], k);
  }
}

// Calls f(v, position) for every value that some unit makes or takes.
template <typename F>
void MemoryMap::for_each_use(const fuser::Fusion& fusion, F f) const {
  for (size_t k = 0; k < fusion.order.size(); ++k) {
    const fuser::Unit& unit = fusion.order[k];
    if (unit.region >= 0) {
      const fuser::FusedRegion& region = fusion.regions[static_cast<size_t>(unit.region)];
      for (Value v : region.inputs) f(v, k);
      for (Value v : region.outputs) f(v, k);
    } else {
      f(unit.node, k);
      for (Value v : graph_.node(unit.node).inputs) f(v, k);
    }
  }
}

void MemoryMap::find_uses(const fuser::Fusion& fusion) {
  for_each_use(fusion, [&](Value v, size_t k) { at(v).last_use = k; });
  for (const fuser::Unit& unit : fusion.order) {
    if (unit.region >= 0 || !core::is_call(graph_.node(unit.node).op)) continue;
    const core::Node& call = graph_.node(unit.node);
    for (Value v : core::arrays_of(call)) {
      at(v).to_host = true;
      at(v).called |= !call.attrs.fresh;
    }
  }
  for (const core::Node& node : graph_.nodes()) {
    if (node.op != Op::leave) continue;
    for (Value v : std::span(node.inputs).subspan(1)) at(v).to_host = true;
  }
  for (Value v : own_) at(v).to_host = true;
  for (Value v : graph_.outputs) {
    at(v).to_host = true;
    at(v).last_use = fusion.order.size();
  }
}

// Memory that the Plan allocates, or is given for good, by a call that makes new arrays for
// instance: nothing else from outside, and nothing that a call has.
bool MemoryMap::is_ours(Value v) const {
  const Value first = root(v);
  const bool given =
      graph_.is_fresh(first) || std::find(own_.begin(), own_.end(), first) != own_.end();
  return (given || !core::is_foreign(graph_.node(first).op)) && !(*this)[v].called;
}

// `newer` takes over the memory of `older`, which ends its life there.
void MemoryMap::join(Value older, Value newer, size_t position) {
  Memory& memory = at(older);
  const Memory& own = at(newer);
  memory = {.to_host = memory.to_host || own.to_host,
            .called = own.called,
            .last_use = std::max(position, own.last_use),
            .last = own.last};
}

void MemoryMap::take_over(Value update, size_t position) {
  const core::Node& node = graph_.node(update);
  const Memory& memory = at(node.inputs[0]);
  // The operand has to be all of memory that the Plan allocates, as it is laid out.
  const auto shares = [&](Value read) { return root(read) == root(node.inputs[0]); };
  if (!is_ours(node.inputs[0]) || memory.last != node.inputs[0] || memory.last_use != position ||
      std::any_of(node.inputs.begin() + 1, node.inputs.end(), shares)) {
    return;
  }
  join(node.inputs[0], update, position);
  of(update) = node.inputs[0];
  in_place_[static_cast<size_t>(update)] = 1;
}

// A Region may write its output where an update is to copy it, if the update is all that needs it
// and nothing before the update has to do with that memory once the Region runs.
// Empty memory is there when it is needed, unless a call tells its size or the place in it.
void MemoryMap::find_targets(const fuser::Fusion& fusion) {
  const std::set<int> late = symbols_of_calls(graph_);
  std::vector<std::vector<size_t>> touches(memories_.size());  // positions, ascending
  for_each_use(fusion, [&](Value v, size_t k) {
    std::vector<size_t>& positions = touches[static_cast<size_t>(root(v))];
    if (positions.empty() || positions.back() != k) positions.push_back(k);
  });
  // When each unit does its work: an update whose part is written by a Region, along with that.
  std::vector<size_t> effective(fusion.order.size());
  std::iota(effective.begin(), effective.end(), size_t{0});
  for (size_t k = 0; k < fusion.order.size(); ++k) {
    const Value update = fusion.order[k].node;
    const bool updates = fusion.order[k].region < 0 && graph_.node(update).op == Op::update;
    if (!updates || !in_place(update)) continue;
    const Value part = graph_.node(update).inputs[1];
    const std::vector<size_t>& uses = touches[static_cast<size_t>(part)];
    // An argument has no Region that writes it, though one may read it before the update.
    const auto writes_part = [&](int32_t region) {
      if (region < 0) return false;
      const std::vector<Value>& outputs = fusion.regions[static_cast<size_t>(region)].outputs;
      return std::find(outputs.begin(), outputs.end(), part) != outputs.end();
    };
    const bool alone = uses.size() == 2 && root(part) == part && (*this)[part].last == part &&
                       !(*this)[part].to_host && writes_part(fusion.order[uses[0]].region);
    const core::Node& node = graph_.node(update);
    // The positions of a convolution are one run of memory.
    const bool is_run = graph_.node(part).op == Op::convolve;
    if (!alone || is_run || depends_on(graph_.type(update).shape, late) ||
        depends_on(node.attrs.starts, late)) {
      continue;
    }
    const std::vector<size_t>& others = touches[static_cast<size_t>(root(update))];
    const bool ready = std::all_of(others.begin(), others.end(), [&](size_t other) {
      const fuser::Unit& unit = fusion.order[other];
      const bool is_empty = unit.region < 0 && graph_.node(unit.node).op == Op::empty;
      return other >= k || is_empty || effective[other] < uses[0];
    });
    if (!ready) continue;
    effective[k] = uses[0];
    target_[static_cast<size_t>(part)] = update;
  }
}

// What was placed in the memory of an update is neither taken over nor moved elsewhere.
void MemoryMap::write_over(const fuser::FusedRegion& region, size_t position) {
  if (region.outputs.size() != 1 || target(region.outputs[0]) >= 0) return;
  const Value result = region.outputs[0];
  for (size_t k = 0; k < region.inputs.size(); ++k) {
    const Value input = region.inputs[k];
    const Memory& memory = (*this)[input];
    const auto shares = [&](Value other) { return root(other) == root(input); };
    const bool dies = is_ours(input) && target(root(input)) < 0 && memory.last == input &&
                      memory.last_use == position &&
                      std::count_if(region.inputs.begin(), region.inputs.end(), shares) == 1;
    if (!dies || !runtime::may_write_over(region.region.body, k)) continue;
    join(input, result, position);
    of(result) = input;
    over_[static_cast<size_t>(result)] = input;
    return;
  }
}

}  // namespace dvm::driver
