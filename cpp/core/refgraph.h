// The RefGraph: what one real execution of a user's function did, as data. Shadow nodes stand for
// the values seen, events for what produced them, in order of execution. Filled by a tracer
// (cpp/capture), read by the lowering; it knows objects of the host only as opaque handles.
//
// After MagPy (paper section 4): slots of frames are shadowed, never identities of interned
// objects, so that two equal small integers of the program stay two nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"

namespace dvm::core {

using NodeId = int32_t;
inline constexpr NodeId kNoNode = -1;

struct ShadowNode {
  // Where the value comes from, i.e. how a later call finds it again.
  enum class Origin : uint8_t { argument, global, closure, constant, event };
  Origin origin = Origin::constant;
  int32_t index = 0;       // argument: position; closure: cell; event: its index
  std::string name;        // global: variable name
  void* scope = nullptr;   // global: the namespace; closure: the function
  void* object = nullptr;  // the value seen in this execution, kept alive by the tracer
};

struct Event {
  enum class Kind : uint8_t {
    call,       // operands: callee, then positional, then keyword arguments
    binary,     // name: operator
    unary,      // name: operator
    compare,    // name: operator
    subscript,  // operands: container, index
    attribute,  // operands: object; name: attribute
    tuple,      // operands: elements
    slice,      // operands: start, stop[, step]
    branch,     // name: truth | is None; operands: what a jump depends on; no result
    followed,   // a call whose body was recorded; its result is the node the body returned
  };
  Kind kind = Kind::call;
  std::string name;
  std::vector<NodeId> operands;
  std::vector<std::string> keywords;  // names of the last operands of a call
  NodeId result = kNoNode;
  Loc loc;
};

struct RefGraph {
  std::vector<ShadowNode> nodes;
  std::vector<Event> events;
  NodeId result = kNoNode;
  std::string aborted;  // why the recording stopped early, or empty
  Loc aborted_at;

  NodeId add(ShadowNode node) {
    nodes.push_back(std::move(node));
    return static_cast<NodeId>(nodes.size()) - 1;
  }
  // Appends the event together with the node of its result.
  NodeId record(Event event) {
    const NodeId id =
        add({ShadowNode::Origin::event, static_cast<int32_t>(events.size()), {}, {}, {}});
    event.result = id;
    events.push_back(std::move(event));
    return id;
  }
};

}  // namespace dvm::core
