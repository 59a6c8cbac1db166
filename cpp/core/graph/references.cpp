#include "core/graph/references.h"

#include <algorithm>

namespace dvm::core {

namespace {

using EventKind = SeenEvent::Kind;

Relation variable_of(const SeenNode& node) {
  return {Relation::Kind::variable, node.scope, node.name, node.index};
}

// What an iterator yields is held by what it was made of, where the program made it.
NodeId iterated(const Recording& recording, NodeId node) {
  const SeenNode& seen = recording.node(node);
  if (seen.origin != SeenNode::Origin::event) return node;
  const SeenEvent& made = recording.events[static_cast<size_t>(seen.index)];
  return made.kind == EventKind::iter ? recording.operands_of(made)[0] : node;
}

// The events that bring a new object about which holds their operands.
bool builds(EventKind kind) {
  switch (kind) {
    case EventKind::tuple:
    case EventKind::list:
    case EventKind::set:
    case EventKind::dict:
    case EventKind::slice:
    case EventKind::function:
      return true;
    default:
      return false;
  }
}

}  // namespace

ReferenceGraph::ReferenceGraph(const Recording& recording, const HostObjects& host) {
  place(recording, host);
  for (const SeenEvent& event : recording.events) apply(recording, host, event);
  if (recording.result != kNoNode) {
    write(kExternal, {Relation::Kind::result, nullptr, nullptr, 0}, shadow_of(recording.result));
  }
}

void ReferenceGraph::place(const Recording& recording, const HostObjects& host) {
  shadows_.push_back({});
  std::unordered_map<HostHandle, ShadowId> known;
  // An argument nobody looked at is no part of what the program depends on.
  std::vector<bool> used(recording.nodes.size());
  for (const NodeId operand : recording.operands) used[static_cast<size_t>(operand)] = true;
  if (recording.result != kNoNode) used[static_cast<size_t>(recording.result)] = true;
  for (size_t i = 0; i < recording.nodes.size(); ++i) {
    const SeenNode& node = recording.nodes[i];
    const auto fresh = static_cast<ShadowId>(shadows_.size());
    ShadowId shadow = fresh;
    if (host.has_identity(node.object))
      shadow = known.try_emplace(node.object, fresh).first->second;
    if (shadow == fresh) shadows_.push_back({static_cast<NodeId>(i), 1, {}, {}});
    shadow_of_.push_back(shadow);
    // A constant belongs to the code; what an event yields is linked where the event says so.
    const bool outside =
        node.origin != SeenNode::Origin::constant && node.origin != SeenNode::Origin::event;
    if (outside && used[i]) {
      read(kExternal, variable_of(node), shadow);
    }
  }
}

size_t ReferenceGraph::HashPlace::operator()(const Place& place) const {
  const Relation& r = place.relation;
  size_t hash = static_cast<size_t>(place.holder) * 2 + static_cast<size_t>(place.when);
  for (const size_t part : {static_cast<size_t>(r.kind), reinterpret_cast<size_t>(r.scope) >> 4,
                            reinterpret_cast<size_t>(r.key) >> 4, static_cast<size_t>(r.index)}) {
    hash = hash * 0x9e3779b97f4a7c15U + part;
  }
  return hash;
}

std::vector<ReferenceGraph::Reference>& ReferenceGraph::references(ShadowId holder, When when) {
  return when == When::initially ? at(holder).initial : at(holder).final;
}

bool ReferenceGraph::holds(const Place& place) const {
  const auto found = places_.find(place);
  if (found == places_.end()) return false;
  const ShadowNode& holder = at(place.holder);
  const auto& all = place.when == When::initially ? holder.initial : holder.final;
  return all[found->second].target != kDropped;
}

void ReferenceGraph::set(const Place& place, ShadowId target) {
  auto& all = references(place.holder, place.when);
  const auto [found, added] = places_.try_emplace(place, all.size());
  if (added) {
    all.push_back({place.relation, target});
  } else {
    all[found->second].target = target;
  }
}

// A reference that is not there yet was there from the beginning, unseen (section 5.3.2).
void ReferenceGraph::read(ShadowId holder, const Relation& relation, ShadowId target) {
  if (holds({holder, When::finally, relation})) return;
  set({holder, When::finally, relation}, target);
  const Place first{holder, When::initially, relation};
  if (!holds(first)) set(first, target);
}

void ReferenceGraph::write(ShadowId holder, const Relation& relation, ShadowId target) {
  ++at(holder).versions;
  set({holder, When::finally, relation}, target);
}

void ReferenceGraph::add_part(ShadowId holder, ShadowId target) {
  ++at(holder).versions;
  auto& all = at(holder).final;
  all.push_back(
      {{Relation::Kind::part, nullptr, nullptr, static_cast<int32_t>(all.size())}, target});
}

void ReferenceGraph::apply(const Recording& recording, const HostObjects& host,
                           const SeenEvent& event) {
  const auto operands = recording.operands_of(event);
  const auto shadow = [&](size_t i) { return shadow_of(operands[i]); };
  const auto handle = [&](size_t i) { return recording.node(operands[i]).object; };
  const auto attribute = Relation{Relation::Kind::attribute, nullptr, event.name, 0};
  const auto item = [&] { return Relation{Relation::Kind::item, nullptr, handle(1), 0}; };
  switch (event.kind) {
    case EventKind::attribute:
      if (event.result != kNoNode && host.is_held(recording, event)) {
        read(shadow(0), attribute, shadow_of(event.result));
      }
      return;
    case EventKind::subscript:
      if (event.result != kNoNode && host.is_held(recording, event)) {
        read(shadow(0), item(), shadow_of(event.result));
      }
      return;
    case EventKind::iter:
    case EventKind::next:
    case EventKind::unpack:
      if (event.result != kNoNode && host.is_held(recording, event)) {
        read(shadow_of(iterated(recording, operands[0])),
             {Relation::Kind::element, nullptr, nullptr, event.result}, shadow_of(event.result));
      }
      return;
    case EventKind::store_attribute:
      return write(shadow(0), attribute, shadow(1));
    case EventKind::delete_attribute:
      return write(shadow(0), attribute, kDropped);
    case EventKind::store_subscript:
      return write(shadow(0), item(), shadow(2));
    case EventKind::delete_subscript:
      return write(shadow(0), item(), kDropped);
    case EventKind::store_global:
      return write(kExternal, {Relation::Kind::variable, handle(1), event.name, 0}, shadow(0));
    case EventKind::store_cell:
      return write(kExternal, {Relation::Kind::variable, handle(1), nullptr, 0}, shadow(0));
    case EventKind::list_append:
    case EventKind::set_add:
    case EventKind::list_extend:
    case EventKind::set_update:
    case EventKind::dict_update:
    case EventKind::dict_merge:
      return add_part(shadow(0), shadow(1));
    case EventKind::map_add:
      return write(shadow(0), item(), shadow(2));
    case EventKind::inplace:
      // An operator that made a new object changed none.
      if (event.result != kNoNode && shadow_of(event.result) == shadow(0)) ++at(shadow(0)).versions;
      return;
    case EventKind::call:
    case EventKind::call_ex:
      if (const NodeId changed = host.changed_by(recording, event); changed != kNoNode) {
        // A method's object is not among its operands, and holds them from then on; an array that
        // a call writes into is, and holds nothing.
        const bool given = std::find(operands.begin(), operands.end(), changed) != operands.end();
        if (given || operands.size() == 1) ++at(shadow_of(changed)).versions;
        for (size_t i = 1; !given && i < operands.size(); ++i) {
          add_part(shadow_of(changed), shadow(i));
        }
      }
      return;
    default:
      break;
  }
  if (builds(event.kind) && event.result != kNoNode) {
    ShadowNode& made = at(shadow_of(event.result));
    for (size_t i = 0; i < operands.size(); ++i) {
      const Relation part{Relation::Kind::part, nullptr, nullptr, static_cast<int32_t>(i)};
      made.initial.push_back({part, shadow(i)});
      made.final.push_back({part, shadow(i)});
    }
  }
}

std::vector<ShadowId> ReferenceGraph::search(ShadowId source, When when) const {
  std::vector<ShadowId> result = {source};
  std::vector<bool> found(shadows_.size());
  found[static_cast<size_t>(source)] = true;
  for (size_t next = 0; next < result.size(); ++next) {
    const ShadowNode& node = at(result[next]);
    for (const Reference& r : when == When::initially ? node.initial : node.final) {
      if (r.target == kDropped || found[static_cast<size_t>(r.target)]) continue;
      found[static_cast<size_t>(r.target)] = true;
      result.push_back(r.target);
    }
  }
  return result;
}

std::vector<NodeId> ReferenceGraph::guard_nodes() const {
  std::vector<NodeId> nodes;
  for (const ShadowId id : search(kExternal, When::initially)) {
    if (id != kExternal) nodes.push_back(at(id).first);
  }
  return nodes;
}

std::vector<NodeId> ReferenceGraph::mock_nodes() const {
  const std::vector<ShadowId> initial = search(kExternal, When::initially);
  std::vector<bool> existed(shadows_.size());
  for (const ShadowId id : initial) existed[static_cast<size_t>(id)] = true;
  std::vector<NodeId> nodes;
  for (const ShadowId id : search(kExternal, When::finally)) {
    if (!existed[static_cast<size_t>(id)]) nodes.push_back(at(id).first);
  }
  for (const ShadowId id : initial) {
    if (id != kExternal && at(id).versions > 1) nodes.push_back(at(id).first);
  }
  return nodes;
}

}  // namespace dvm::core
