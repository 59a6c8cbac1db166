#include "core/references.h"

#include <algorithm>

namespace dvm::core {

namespace {

using Kind = SeenEvent::Kind;

Relation variable_of(const SeenNode& node) {
  return {Relation::Kind::variable, node.scope, node.name, node.index};
}

// The events that bring a new object about which holds their operands.
bool builds(Kind kind) {
  switch (kind) {
    case Kind::tuple:
    case Kind::list:
    case Kind::set:
    case Kind::dict:
    case Kind::slice:
    case Kind::function:
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
  shadows_.push_back({kNoNode, {Version{}}});
  std::unordered_map<HostHandle, ShadowId> known;
  for (size_t i = 0; i < recording.nodes.size(); ++i) {
    const SeenNode& node = recording.nodes[i];
    const auto fresh = static_cast<ShadowId>(shadows_.size());
    ShadowId shadow = fresh;
    if (host.has_identity(node.object))
      shadow = known.try_emplace(node.object, fresh).first->second;
    if (shadow == fresh) shadows_.push_back({static_cast<NodeId>(i), {Version{}}});
    shadow_of_.push_back(shadow);
    // A constant belongs to the code; what an event yields is linked where the event says so.
    if (node.origin != SeenNode::Origin::constant && node.origin != SeenNode::Origin::event) {
      at(kExternal).versions[0].push_back({variable_of(node), shadow});
    }
  }
}

ReferenceGraph::Version& ReferenceGraph::new_version(ShadowId holder) {
  auto& versions = at(holder).versions;
  Version copy = versions.back();
  return versions.emplace_back(std::move(copy));
}

// A reference that is not there yet was there from the beginning, unseen (section 5.3.2).
void ReferenceGraph::read(ShadowId holder, const Relation& relation, ShadowId target) {
  const auto is_same = [&](const Reference& r) { return r.relation == relation; };
  auto& versions = at(holder).versions;
  if (std::ranges::any_of(versions.back(), is_same)) return;
  for (Version& version : versions) {
    if (std::ranges::none_of(version, is_same)) version.push_back({relation, target});
  }
}

void ReferenceGraph::write(ShadowId holder, const Relation& relation, ShadowId target) {
  Version& version = new_version(holder);
  std::erase_if(version, [&](const Reference& r) { return r.relation == relation; });
  version.push_back({relation, target});
}

void ReferenceGraph::erase(ShadowId holder, const Relation& relation) {
  std::erase_if(new_version(holder), [&](const Reference& r) { return r.relation == relation; });
}

void ReferenceGraph::add_part(ShadowId holder, ShadowId target) {
  Version& version = new_version(holder);
  const auto index = static_cast<int32_t>(version.size());
  version.push_back({{Relation::Kind::part, nullptr, nullptr, index}, target});
}

void ReferenceGraph::apply(const Recording& recording, const HostObjects& host,
                           const SeenEvent& event) {
  const auto operands = recording.operands_of(event);
  const auto shadow = [&](size_t i) { return shadow_of(operands[i]); };
  const auto handle = [&](size_t i) { return recording.node(operands[i]).object; };
  const auto attribute = Relation{Relation::Kind::attribute, nullptr, event.name, 0};
  const auto item = [&] { return Relation{Relation::Kind::item, nullptr, handle(1), 0}; };
  switch (event.kind) {
    case Kind::attribute:
      if (event.result != kNoNode && host.is_held(recording, event)) {
        read(shadow(0), attribute, shadow_of(event.result));
      }
      return;
    case Kind::subscript:
      if (event.result != kNoNode && host.is_held(recording, event)) {
        read(shadow(0), item(), shadow_of(event.result));
      }
      return;
    case Kind::iter:
    case Kind::next:
    case Kind::unpack:
      if (event.result != kNoNode && host.is_held(recording, event)) {
        read(shadow(0), {Relation::Kind::element, nullptr, nullptr, event.result},
             shadow_of(event.result));
      }
      return;
    case Kind::store_attribute:
      return write(shadow(0), attribute, shadow(1));
    case Kind::delete_attribute:
      return erase(shadow(0), attribute);
    case Kind::store_subscript:
      return write(shadow(0), item(), shadow(2));
    case Kind::delete_subscript:
      return erase(shadow(0), item());
    case Kind::store_global:
      return write(kExternal, {Relation::Kind::variable, handle(1), event.name, 0}, shadow(0));
    case Kind::store_cell:
      return write(kExternal, {Relation::Kind::variable, handle(1), nullptr, 0}, shadow(0));
    case Kind::list_append:
    case Kind::set_add:
    case Kind::list_extend:
    case Kind::set_update:
    case Kind::dict_update:
    case Kind::dict_merge:
      return add_part(shadow(0), shadow(1));
    case Kind::map_add:
      return write(shadow(0), item(), shadow(2));
    case Kind::inplace:
      // An operator that made a new object changed none.
      if (event.result != kNoNode && shadow_of(event.result) == shadow(0)) new_version(shadow(0));
      return;
    case Kind::call:
    case Kind::call_ex:
      if (const NodeId changed = host.changed_by(recording, event); changed != kNoNode) {
        if (operands.size() == 1) new_version(shadow_of(changed));
        for (size_t i = 1; i < operands.size(); ++i) add_part(shadow_of(changed), shadow(i));
      }
      return;
    default:
      break;
  }
  if (builds(event.kind) && event.result != kNoNode) {
    Version& version = at(shadow_of(event.result)).versions.back();
    for (size_t i = 0; i < operands.size(); ++i) {
      version.push_back(
          {{Relation::Kind::part, nullptr, nullptr, static_cast<int32_t>(i)}, shadow(i)});
    }
  }
}

std::vector<ShadowId> ReferenceGraph::search(ShadowId source, When when) const {
  std::vector<ShadowId> result = {source};
  std::vector<bool> found(shadows_.size());
  found[static_cast<size_t>(source)] = true;
  for (size_t next = 0; next < result.size(); ++next) {
    const auto& versions = at(result[next]).versions;
    for (const Reference& r : when == When::initially ? versions.front() : versions.back()) {
      if (found[static_cast<size_t>(r.target)]) continue;
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
    if (id != kExternal && at(id).versions.size() > 1) nodes.push_back(at(id).first);
  }
  return nodes;
}

}  // namespace dvm::core
