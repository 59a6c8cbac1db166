// A Recording: what one real execution of a user's function did, as data. Nodes stand for the
// values seen, events for what was done with them, in order of execution. Filled by a tracer
// (cpp/capture), read by the lowering and by references.h; objects of the host are opaque handles.
//
// After MagPy (paper section 4): slots of frames are shadowed, never identities of interned
// objects, so that two equal small integers of the program stay two nodes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"

namespace dvm::core {

using NodeId = int32_t;
inline constexpr NodeId kNoNode = -1;
using HostHandle = void*;  // an object of the host; whoever fills a Recording keeps it alive

struct SeenNode {
  // Where the value comes from, i.e. how a later call finds it again.
  enum class Origin : uint8_t {
#define DVM_ORIGIN(name, text) name,
#include "core/graph/recording.def"
  };
  Origin origin = Origin::constant;
  int32_t index = 0;            // argument, default: parameter slot; event: its number
  HostHandle name = nullptr;    // global: variable name
  HostHandle scope = nullptr;   // global: namespace; closure: cell; default: function
  HostHandle object = nullptr;  // the value seen in this execution
  // The elements that a mutable container had at first sight; None, where a turn of a loop begins:
  // a list has others by then. An array as it was before the program gave it another shape or
  // dtype.
  HostHandle snapshot = nullptr;
};

struct SeenEvent {
  enum class Kind : uint8_t {
#define DVM_EVENT(name, text) name,
#include "core/graph/recording.def"
  };
  Kind kind = Kind::call;
  bool followed = false;          // what ran for it is recorded after it, up to its `leave`
  uint32_t first = 0, count = 0;  // its operands, in Recording::operands
  HostHandle name = nullptr;
  HostHandle keywords = nullptr;  // a tuple of the host: names of the last operands
  NodeId result = kNoNode;
  HostHandle code = nullptr;  // where in the user's program: code object and instruction
  int32_t instruction = 0;
};

struct Recording {
  std::vector<SeenNode> nodes;
  std::vector<SeenEvent> events;
  std::vector<NodeId> operands;  // of all events, in order
  NodeId result = kNoNode;
  int64_t opcodes = 0;  // instructions that were recorded
  std::string aborted;  // why the recording stopped early, or empty
  Loc aborted_at;

  const SeenNode& node(NodeId id) const { return nodes[static_cast<size_t>(id)]; }
  SeenNode& node(NodeId id) { return nodes[static_cast<size_t>(id)]; }
  std::span<const NodeId> operands_of(const SeenEvent& event) const {
    return {operands.data() + event.first, event.count};
  }
  NodeId add(const SeenNode& node) {
    nodes.push_back(node);
    return static_cast<NodeId>(nodes.size()) - 1;
  }
  // Appends an event; its result's node is added when the host shows the result.
  int32_t record(SeenEvent event, std::span<const NodeId> nodes_used) {
    event.first = static_cast<uint32_t>(operands.size());
    event.count = static_cast<uint32_t>(nodes_used.size());
    operands.insert(operands.end(), nodes_used.begin(), nodes_used.end());
    events.push_back(event);
    return static_cast<int32_t>(events.size()) - 1;
  }
};

}  // namespace dvm::core
