// A Recording in the making. Owns the Python objects behind its handles, knows which node every
// global, cell, default and constant has by now, and takes the snapshots of mutable containers.
//
// Everything here runs inside trace callbacks: it calls no Python code of the user, throws
// std::exception when it cannot go on, and needs the GIL.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture/py.h"
#include "capture/record/endings.h"
#include "capture/record/lifetimes.h"
#include "core/graph/recording.h"

namespace dvm::capture {

using core::kNoNode;
using core::NodeId;

inline PyObject* as_object(core::HostHandle handle) { return static_cast<PyObject*>(handle); }

// The recording cannot go on; what() is the message of a reason (reasons.h).
struct Unrecordable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Nor can it keep what it has seen alive: the program looks at lifetimes, or memory runs short.
struct Unkeepable : Unrecordable {
  using Unrecordable::Unrecordable;
};

// Where an event happens: which instruction of which code object.
struct Place {
  PyCodeObject* code;
  int32_t instruction;
};
core::Loc location(Place place);

// In instructions of the interpreter.
struct Limits {
  int64_t most_opcodes = INT64_MAX;      // a call of more is not recorded to its end
  int64_t skip_turns_after = INT64_MAX;  // behind so many, turns of a loop need not be recorded
  std::vector<int64_t> wanted_turns;     // but for these: their numbers, in whatever loop
};

class Record {
 public:
  Record() = default;
  Record(const Record&) = delete;
  ~Record();

  const core::Recording& data() const { return data_; }
  PyObject* object(NodeId node) const { return static_cast<PyObject*>(data_.node(node).object); }
  const core::SeenEvent& event(int32_t number) const {
    return data_.events[static_cast<size_t>(number)];
  }

  NodeId argument(int slot, PyObject* object, bool collected);  // collected: *args or **kwargs
  NodeId preset(PyObject* function, int slot, PyObject* object);
  NodeId constant(PyObject* object);
  NodeId made_node(const PyObject* object) const;  // by an event: the last node of it, or kNoNode
  // The variable as last recorded. Throws when it holds another object by now: something unseen
  // has assigned to it.
  NodeId global(PyObject* globals, PyObject* name, PyObject* object);
  void set_global(PyObject* globals, PyObject* name, NodeId node);

  // Cells made by recorded frames are part of the shadow; older ones are read and written.
  void adopt_cell(PyObject* cell, NodeId contents);
  bool is_adopted(PyObject* cell) const;
  NodeId adopted_contents(PyObject* cell) const;  // kNoNode: it has none, or is no such cell
  NodeId cell(PyObject* cell);
  void set_cell(PyObject* cell, NodeId contents);

  // Appends an event and returns its number. Operands that are mutable containers are copied.
  int32_t add(core::SeenEvent::Kind kind, PyObject* name, std::span<const NodeId> operands,
              Place place, PyObject* keywords = nullptr);
  NodeId add_result(int32_t event, PyObject* object);  // a new node for what the event produced
  NodeId again(NodeId node);                           // a new node of the same object and origin
  // The node is this object's, which means the same as the one that it was of.
  void set_object(NodeId node, PyObject* object);
  // A node for what a function is given: what it finds elsewhere is another value, though it be the
  // same constant, global or default.
  NodeId own(NodeId node);
  // Where a turn of a loop begins, or behind it: what a list holds that changed is not known.
  void look_again(NodeId node);
  void set_result(int32_t event, NodeId node) { at(event).result = node; }
  void set_name(int32_t event, PyObject* name) { at(event).name = name; }
  void set_keywords(int32_t event, PyObject* names) { at(event).keywords = names; }
  void set_followed(int32_t event) { at(event).followed = true; }
  // An event that is over at once: something a followed call does between two instructions.
  NodeId derive(core::SeenEvent::Kind kind, PyObject* name, std::span<const NodeId> operands,
                Place place, PyObject* object);

  // Asked of a generator that is made: whether it surely comes to its end, and where that was.
  struct Ends {
    std::function<bool()> comes_to_its_end;
    std::function<Endings::Made()> where_made;
  };
  void ask_ends(Ends ends) { ends_ = std::move(ends); }
  // Those of which nobody has said so.
  const Endings& endings() const { return endings_; }
  std::vector<PyObject*> dropped_endings() const { return endings_.dropped(lifetimes_); }
  void set_ended(PyObject* generator) { endings_.forget(generator); }

  void set_result(NodeId node) { data_.result = node; }
  void limit(Limits limits) { limits_ = std::move(limits); }
  bool is_over_limit() const { return stopped_ || data_.opcodes + watched_ > limits_.most_opcodes; }
  [[noreturn]] void stop() {
    stopped_ = true;
    throw Unrecordable("long-call\n" + std::to_string(data_.events.size()));
  }
  // A loop was left in a turn that was not recorded, so that the recording tells of another call.
  [[noreturn]] void stop_within_skipped() {
    is_left_within_skipped_ = true;
    stop();
  }
  bool is_left_within_skipped() const { return is_left_within_skipped_; }
  bool may_skip_turns() const { return data_.opcodes > limits_.skip_turns_after; }
  std::span<const int64_t> wanted_turns() const { return limits_.wanted_turns; }
  // A trace event, of a line mostly, in turns of a loop that were run and that it does not tell of.
  void count_skipped() { ++skipped_; }
  int64_t skipped() const { return skipped_; }
  // By parameter slot; none, where nothing is kept.
  std::vector<PyObject*> arguments() const;
  // A node for what a variable holds behind such turns: the next event is said to have made it.
  NodeId met(PyObject* object);
  void count_opcode() {
    ++data_.opcodes;
    if (is_over_limit()) stop();
  }
  // One behind the end of the recording, while that keeps what it has.
  void count_watched() {
    ++watched_;
    if (is_over_limit()) stop();
  }
  void abort(std::string reason, core::Loc loc);    // the first reason wins
  void discard(std::string reason, core::Loc loc);  // ... and forget all that was recorded
  bool aborted() const { return !data_.aborted.empty(); }
  void keep(PyObject* object) {
    kept_.push_back(Ref::borrow(object));
    lifetimes_.hold(object);
  }
  // Throws where the program could see that something which it has dropped is still there, and has
  // let go of that. may_have_changed: containers, since this was last asked.
  void check_dropped(bool may_have_changed = true);
  // How many objects that took so far.
  int64_t looked_at() const { return looked_at_; }
  // These references are about to be dropped, and what they are the last ones to is let go in its
  // order, with what the recording has of it.
  // Whether there are any.
  bool drop(std::span<PyObject* const> references) {
    const std::vector<PyObject*> holders = lifetimes_.holders_among(references);
    for (PyObject* const holder : holders) keep(holder);
    return !holders.empty();
  }
  // A frame is about to be left, and what only its variables have is dropped in their order.
  void leave_frame(std::span<PyObject* const> variables);
  const Lifetimes& lifetimes() const { return lifetimes_; }
  bool keeps_any() const { return !data_.nodes.empty(); }

 private:
  // So much new memory, and what the program has dropped of it is looked for.
  static constexpr size_t kDropEvery = size_t{1} << 26;

  struct Key {
    PyObject* scope;
    uintptr_t name;  // of a variable, or a parameter's slot
    bool operator==(const Key&) const = default;
  };
  struct HashKey {
    size_t operator()(const Key& key) const {
      return reinterpret_cast<size_t>(key.scope) * 31 + (key.name >> 4) + key.name;
    }
  };
  struct Cell {
    NodeId contents;
    bool adopted;
  };

  core::SeenEvent& at(int32_t event) { return data_.events[static_cast<size_t>(event)]; }
  NodeId add_node(core::SeenNode node);
  void keep_result(PyObject* object);
  void check_kept(const core::SeenEvent& event, PyObject* result);
  void check_cell(NodeId contents);
  void lose(PyObject* object);
  void take_snapshot(core::SeenNode& node);
  void keep_layout(NodeId node, PyObject* name);
  void release();
  void let_go(const std::unordered_set<PyObject*>& dropped);

  core::Recording data_;
  Limits limits_;
  bool stopped_ = false, is_left_within_skipped_ = false;
  int64_t skipped_ = 0, watched_ = 0, looked_at_ = 0;
  Ends ends_;
  std::unordered_set<PyObject*> ending_;  // generators that do
  Endings endings_;
  Lifetimes lifetimes_;
  std::vector<Ref> kept_;
  size_t kept_bytes_ = 0;  // at most, of arrays that only the recording holds
  size_t next_drop_ = kDropEvery;
  std::unordered_set<const void*> dropped_;  // arrays without their contents
  std::unordered_map<Key, NodeId, HashKey> globals_, presets_;
  std::unordered_map<PyObject*, NodeId> constants_;
  std::unordered_set<NodeId> own_;  // made by `again`: of one variable alone
  std::unordered_map<PyObject*, Cell> cells_;
  std::unordered_map<PyObject*, Ref> snapshots_;
};

// Of what stands in a recording for an object that the program has dropped and the recording has
// let go, one for each.
PyTypeObject* dropped_type();

// Names that events have without the user writing them.
struct Words {
  PyObject *empty, *truth, *none, *exhausted, *raised, *closes, *dies, *exit, *self;
  PyObject *yes, *no;  // tuples
};
const Words& words();

// The name, borrowed; it lives as long as the process. For the few that events can have.
PyObject* interned(std::string_view text);
// A new reference just made by the C API, or Unrecordable when that failed.
Ref made(PyObject* object);

}  // namespace dvm::capture
