// Records one running frame. Its shadow holds, for every local slot and stack entry, the node that
// is there. Each instruction's effect is applied to the shadow before the instruction runs; what
// it produced, or where it jumped, is read off the real frame at the frame's next event.
#pragma once

#include <array>
#include <vector>

#include "capture/cpython/frame_view.h"
#include "capture/cpython/loops.h"
#include "capture/cpython/written_out_calls.h"
#include "capture/record/record.h"

namespace dvm::capture {

// What a frame's slots hold. Calls are frequent and short, so that its memory serves one frame
// after the other.
struct Shadow {
  std::vector<NodeId> locals, stack;
};

class FrameRecorder {
 public:
  // `parameters`: a node per parameter slot of the frame. `may_stop`: the frame gives the next item
  // of an iteration, which it may end by StopIteration. `shadow`: only its memory is used.
  // `loops`: where its loops are looked up; null: turns are not marked.
  FrameRecorder(Record& record, PyFrameObject* frame, std::span<const NodeId> parameters,
                bool may_stop, Shadow shadow, CodeLoops* loops);
  // The frame is over.
  Shadow give_shadow() { return {std::move(locals_), std::move(stack_)}; }

  void before_opcode(const FrameView& f);

  // The marks of loops that stand before an instruction.
  void begin_opcode(const FrameView& f);

  // Whether the frame asks for the next item of the innermost loop that it is in.
  bool is_at_turn(const FrameView& f) const;
  bool is_in_loop(const FrameView& f) const { return turning_.back().loop->holds(f.start); }
  // The loops that it is in, and whether a turn may leave the innermost.
  size_t loops() const { return turning_.size(); }
  bool is_left_early() const { return turning_.back().loop->is_left_early; }
  int64_t next_turn() const { return turning_.back().turn + 1; }
  // It has run so many turns of it that were not recorded: the variables that these set get new
  // nodes.
  void go_on_at_turn(const FrameView& f, int64_t skipped);

  // The frame is about to return this object: its node.
  NodeId returned(PyObject* value);

  // A generator's frame: about to give this item, which returns its node; and going on after it.
  bool is_yielding() const { return yielded_ != kNoNode; }
  NodeId yielded(PyObject* item);
  void resume(const FrameView& f, NodeId sent);
  // What a `yield from` sends into the iterator that it asks; none: another instruction runs.
  NodeId sent() const { return pending_ == Pending::send ? sent_ : kNoNode; }

  // The event of the instruction that is running, or -1. Python code that runs meanwhile is part of
  // it, and is followed when it is a body this event is known to run.
  int32_t event() const { return event_; }
  // Such a body returned this node: the result of the instruction, if it turns out to be that.
  void set_followed(NodeId node) { followed_ = node; }
  NodeId followed() const { return followed_; }
  // The generator that gave the items of this iteration has returned it.
  void set_ending(NodeId node) { ending_ = node; }
  // Whether what the running call returns is handed to `enter_context` of contextlib's ExitStack,
  // which is the manager of a `with` statement of this frame.
  bool enters_context() const;
  // The object a method was looked up on, which the call event leaves out.
  NodeId method_self() const { return method_self_; }
  bool is_iterating() const { return pending_ == Pending::next || pending_ == Pending::send; }
  // StopIteration was raised in it: unless it ends the frame, it is an exception like any other.
  bool stop();
  bool is_stopped() const { return stopped_; }

  // The running instruction raised, or a body that it runs did and this node is its exception.
  void raise(PyObject* exception);
  void raise(NodeId exception) { raising_ = exception; }
  // The exception on its way out of the frame, or none.
  NodeId raising() const { return raising_; }

  const void* identity() const { return identity_; }
  Place place() const { return {code_, instruction_}; }

 private:
  // What the next event of the frame will tell about the instruction that runs now.
  enum class Pending : uint8_t {
    nothing,
    effect,        // only that it is over
    top,           // its result
    global,        // the variable's value
    method,        // the method and its object, or what was looked up and a null
    unpack,        // as many results as count_
    with,          // (exit method, value)
    next,          // an item, or that there was none
    send,          // an item that `yield from` hands on, or what its iterator returned
    branch,        // where it jumped
    jump_or_keep,  // where it jumped, and then the value was kept
    truth,         // whether what is on top is true, which is there now
    negation,      // the same, of `not`
    compared,      // the truth of its result, which its operands' code has made
    cell,          // a new cell of a variable
  };

  void pass_loops(const FrameView& f);
  void mark(core::SeenEvent::Kind kind, const std::string& name, const CodeLoop& loop,
            const FrameView& f, NodeId* returned);
  void settle(const FrameView& f);
  void enter_handler(const FrameView& f);
  void settle_method(const FrameView& f);
  void settle_unpack(const FrameView& f);
  void settle_branch(const FrameView& f);
  void settle_truth(PyObject* answer);
  void settle_compared(const FrameView& f);
  void apply(const FrameView& f);
  void plain(const FrameView& f);
  void special(const FrameView& f);
  void call(const FrameView& f);
  void call_ex(const FrameView& f);
  void load_special(const FrameView& f);
  void match(const FrameView& f);
  void make_function(const FrameView& f);
  void unpack(int before, int after);
  void branch(const FrameView& f, bool keeps);
  bool is_own_iterator(const FrameView& f) const;
  void load_local(const FrameView& f);
  NodeId constant(PyObject* object);
  bool begins_written_out(const FrameView& f) const;
  bool pass_written_out(const FrameView& f);
  void end_written_out(const FrameView& f);
  void slice(const FrameView& f);
  void load_super(const FrameView& f);
  void compare_truth(const FrameView& f);
  void ask_truth(const FrameView& f);
  void part_of_function(const FrameView& f);
  void end_function(const FrameView& f);
  void format(const FrameView& f);
  void store_cell(const FrameView& f);
  void raise_statement(const FrameView& f);
  void exit_with_exception(const FrameView& f);

  NodeId& top(int i = 1) { return stack_[stack_.size() - static_cast<size_t>(i)]; }
  NodeId& local(int i) { return locals_[static_cast<size_t>(i)]; }
  NodeId pop();
  void push(NodeId node) { stack_.push_back(node); }
  std::span<const NodeId> tops(int count) const;
  void drop(int count) { stack_.resize(stack_.size() - static_cast<size_t>(count)); }
  void add(core::SeenEvent::Kind kind, PyObject* name, std::span<const NodeId> operands);
  // The event's node, once it has produced this: a followed body's, or a new one.
  NodeId produced(PyObject* object);
  NodeId ended_with(PyObject* value);

  Record& record_;
  const void* identity_;
  PyCodeObject* code_;
  PyObject* globals_;
  std::vector<NodeId> locals_, stack_;
  const std::vector<CodeLoop>* loops_ = nullptr;              // of the code; null: it has none
  const std::vector<WrittenOutCall>* written_out_ = nullptr;  // of the code; null: it has none
  std::vector<NodeId> written_out_callees_;
  bool in_written_out_ = false;  // whose loop runs: the event is its call
  struct Turning {
    const CodeLoop* loop;
    int64_t turn;
  };
  std::vector<Turning> turning_;  // those that the frame is in, innermost last
  bool behind_skipped_ = false;   // turns of that one
  int32_t instruction_ = 0;

  Pending pending_ = Pending::nothing;
  int32_t event_ = -1;
  NodeId method_self_ = kNoNode;
  NodeId followed_ = kNoNode;
  NodeId ending_ = kNoNode;
  NodeId returned_ = kNoNode;
  NodeId yielded_ = kNoNode;
  NodeId sent_ = kNoNode;
  NodeId raising_ = kNoNode;
  std::vector<NodeId> handled_;        // exceptions whose handlers run, innermost last
  PyObject* name_ = nullptr;           // global: the variable's
  PyObject* keyword_names_ = nullptr;  // of the call that follows
  int count_ = 0;                      // unpack: results; cell: the variable's slot
  int above_ = 0;                      // global: nulls that are pushed on the variable's value
  bool is_asked_ = false;              // the truth of what is on top, by an event of its own
  PyObject* function_name_ = nullptr;
  NodeId function_code_ = kNoNode;  // of one that is being made
  std::array<NodeId, 5> function_parts_{};
  int fall_through_ = 0;   // branch, next, send: the next instruction, unless it jumps
  bool jumps_if_ = false;  // branch: the answer on which it jumps
  bool may_stop_ = false, stopped_ = false;
};

}  // namespace dvm::capture
