// The reference graph of a recording (paper MagPy sections 4.1 and 4.2, Algorithm 1): which object
// held which, version by version, and from that the objects a guard must check and those a mock
// must bring about.
//
// Objects of the host stay opaque; what only the host can know about them it answers through
// HostObjects, so that the tests work on objects made up for them.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/graph/recording.h"

namespace dvm::core {

class HostObjects {
 public:
  virtual ~HostObjects() = default;
  // False for values that the host may share behind the program's back (small numbers, interned
  // text): two of them are two shadow nodes although their handles are equal.
  virtual bool has_identity(HostHandle object) const = 0;
  // Whether the value that this event read is an object its operand holds, not one made for the
  // occasion (a view, a property's result).
  virtual bool is_held(const Recording& recording, const SeenEvent& event) const = 0;
  // The operand that this call changes in place, or kNoNode.
  virtual NodeId changed_by(const Recording& recording, const SeenEvent& call) const = 0;
};

// What a reference is called in the object that holds it. Two relations of one object are the same
// place if they are equal.
struct Relation {
  enum class Kind : uint8_t { variable, attribute, item, element, part, result };
  Kind kind = Kind::element;
  HostHandle scope = nullptr;  // variable: namespace, cell or function
  HostHandle key = nullptr;    // variable, attribute: name; item: key
  int32_t index = 0;           // element, argument, default: position
  bool operator==(const Relation&) const = default;
};

using ShadowId = int32_t;
inline constexpr ShadowId kExternal = 0;  // the state outside: arguments, globals, cells, result

class ReferenceGraph {
 public:
  struct Reference {
    Relation relation;
    ShadowId target;  // kDropped: no longer held
  };
  static constexpr ShadowId kDropped = -1;
  // Of the versions between the first and the last only their number matters to guards and mocks.
  struct ShadowNode {
    NodeId first = kNoNode;  // the recording's first node for it; none for the external state
    int32_t versions = 1;
    std::vector<Reference> initial, final;
  };

  ReferenceGraph(const Recording& recording, const HostObjects& host);

  const std::vector<ShadowNode>& shadows() const { return shadows_; }
  ShadowId shadow_of(NodeId node) const { return shadow_of_[static_cast<size_t>(node)]; }

  // Algorithm 1: what is reachable from `source` by references of each node's first version, or of
  // its last. In breadth-first order.
  enum class When : uint8_t { initially, finally };
  std::vector<ShadowId> search(ShadowId source, When when) const;
  std::vector<NodeId> guard_nodes() const;
  std::vector<NodeId> mock_nodes() const;

 private:
  struct Place {
    ShadowId holder;
    When when;
    Relation relation;
    bool operator==(const Place&) const = default;
  };
  struct HashPlace {
    size_t operator()(const Place& place) const;
  };

  void place(const Recording& recording, const HostObjects& host);
  void apply(const Recording& recording, const HostObjects& host, const SeenEvent& event);
  bool holds(const Place& place) const;
  void set(const Place& place, ShadowId target);
  void read(ShadowId holder, const Relation& relation, ShadowId target);
  void write(ShadowId holder, const Relation& relation, ShadowId target);  // a new version
  void add_part(ShadowId holder, ShadowId target);                         // a new version
  std::vector<Reference>& references(ShadowId holder, When when);
  ShadowNode& at(ShadowId id) { return shadows_[static_cast<size_t>(id)]; }
  const ShadowNode& at(ShadowId id) const { return shadows_[static_cast<size_t>(id)]; }

  std::vector<ShadowNode> shadows_;
  std::vector<ShadowId> shadow_of_;
  // Where in its holder's list a relation is. Parts are left out: no later event names them.
  std::unordered_map<Place, size_t, HashPlace> places_;
};

}  // namespace dvm::core
