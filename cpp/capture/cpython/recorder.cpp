#include "capture/record/recorder.h"

#include <algorithm>
#include <array>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "capture/call_bound.h"
#include "capture/cpython/drops.h"
#include "capture/cpython/event_source.h"
#include "capture/cpython/skipped_turns.h"
#include "capture/record/callbacks.h"
#include "capture/record/known_callers.h"
#include "capture/record/leaves.h"
#include "capture/record/special_methods.h"

namespace dvm::capture {

extern const bool kCanRecord = true;

namespace {

using Kind = core::SeenEvent::Kind;

class Recorder final : public EventReader {
 public:
  Recorder(Record& record, PyFunctionObject* function, bool marks_loops)
      : record_(record), function_(function), marks_loops_(marks_loops) {
    record_.ask_ends({[this] { return is_manager_of_with(); }, [this] { return where_made(); }});
  }
  ~Recorder() { record_.ask_ends({}); }
  Recorder(const Recorder&) = delete;

  // Where its events come from.
  void read(EventSource* source) { source_ = source; }

  // Called from C: whatever goes wrong here ends the recording, not the user's program.
  bool on_event(PyFrameObject* frame, FrameEvent event, PyObject* object) noexcept override {
    if (source_ == nullptr) return false;
    if (skipped_.is_on()) return on_skipped(frame, event);
    if (is_watching()) {
      watch(frame, event);
      return true;
    }
    if (event == FrameEvent::instruction) {
      if (Followed* const top = find_top(frame)) on_instruction(frame, *top);
      return true;
    }
    const bool ends = event == FrameEvent::returned || event == FrameEvent::unwound;
    if (ends || event == FrameEvent::exception) may_have_ = {true, true};
    if (!record_.aborted() && !finished_) {
      guarded(frame, [&] { on_frame(frame, event, object); });
      if (finished_) guarded(frame, [&] { leave(frame); });
    }
    return true;
  }

  // The call is over, and what only its variables had is dropped.
  void end() {
    if (returned_ && !record_.aborted()) {
      guarded_at([&] { return location(frames_.front().frame.place()); }, [&] { end_dropped(); });
    }
    finished_ = finished_ || returned_;
  }

  bool is_finished() const { return finished_; }

 private:
  struct Followed {
    FrameRecorder frame;
    NodeId instance = kNoNode;   // what a call of a type results in, not what __init__ returns
    NodeId generator = kNoNode;  // that runs in the frame
    NodeId closed_by = kNoNode;  // the exception that closes it, which nobody handles
    bool called_back = false;    // C code has what it returns, not the frame below
  };

  void on_instruction(PyFrameObject* frame, Followed& top) noexcept {
    if (!record_.aborted()) {
      guarded(frame, [&] {
        check_nothing_in_flight();
        end_dropped();
        if (std::exchange(may_have_.drops, false)) {
          record_.check_dropped(std::exchange(may_have_.changes, false));
        }
        if (!record_.aborted()) before_opcode(frame, top);
      });
    }
    if (!record_.aborted() || is_watching()) return;
    source_->attend(frame, Attention::none);
    if (source_->is_alone()) source_->quit();
  }

  Followed* find_top(PyFrameObject* frame) {
    const bool is_top = !frames_.empty() && !(returned_ && frames_.size() == 1) &&
                        frames_.back().frame.identity() == dvm_frame_identity(frame);
    return is_top ? &frames_.back() : nullptr;
  }

  // Whether contextlib makes the manager of a `with` statement, of which it is told when that is
  // over: the generator that was just made comes to its end then, and not when it dies.
  bool is_manager_of_with() const {
    static PyObject* const maker = code_of_managers();
    if (reinterpret_cast<PyObject*>(frames_.back().frame.place().code) != maker) return false;
    constexpr size_t kBetween = 4;  // frames that hand the manager on to the one with the statement
    for (size_t i = 2; i <= std::min(frames_.size(), kBetween + 1); ++i) {
      const Place place = frames_[frames_.size() - i].frame.place();
      if (is_manager(place)) return true;
      if (frames_[frames_.size() - i].frame.enters_context()) return true;
    }
    return false;
  }

  // Of the method that makes the generator; never let go.
  static PyObject* code_of_managers() {
    Ref found = Ref::steal(PyImport_ImportModule("contextlib"));
    for (const char* name : {"_GeneratorContextManagerBase", "__init__", "__code__"}) {
      if (found) found = Ref::steal(PyObject_GetAttrString(found.get(), name));
    }
    if (!found) PyErr_Clear();
    return found.release();
  }

  Endings::Made where_made() const {
    const Place place = frames_.back().frame.place();
    return {std::ranges::any_of(frames_, [](const Followed& f) { return f.generator != kNoNode; }),
            behind(place) == Op::get_iter};
  }

  // Whether what is called here is the manager of a `with` statement.
  static bool is_manager(Place place) {
    const CodeTable& table = code_table(place.code);
    const Decoded* const here = table.at(place.instruction);
    const Decoded* const next = here ? table.at(here->next) : nullptr;
    if (next == nullptr) return false;
    const bool is_copied = next->first.op == Op::copy;
    return next->first.op == Op::before_with ||
           (is_copied && table.behind(next->unit).op == Op::load_special);
  }

  static Op behind(Place place) { return code_table(place.code).behind(place.instruction).op; }

  void before_opcode(PyFrameObject* frame, Followed& top) {
    const FrameView f = frame_view(frame);
    if (record_.may_skip_turns() && top.frame.is_at_turn(f) && may_run_untraced() &&
        skipped_.begin(frame, top.frame, f, frames_.size() == 1, record_.wanted_turns())) {
      source_->attend(frame, Attention::turns);
      return;
    }
    top.frame.before_opcode(f);
    tell_effects(f);
    if (f.then.op != Op::nothing) tell_effects(f.second());
  }

  void tell_effects(const FrameView& f) {
    const Effects effects = effects_of(f, record_.lifetimes());
    may_have_.drops |= effects.drops;
    may_have_.changes |= effects.changes;
    if (effects.drops || effects.changes) may_have_.drops |= tell_dropped(f, record_);
  }

  // Whether nothing but its own frames would miss the trace events of some turns. Each of these was
  // called by the one below, whose call ends with it.
  bool may_run_untraced() const {
    return source_->is_alone() && waiting_.empty() && !record_.endings().any() &&
           std::ranges::all_of(
               frames_, [](const Followed& f) { return f.generator == kNoNode && !f.called_back; });
  }

  // The recording is over, but keeps what it has seen, until the program drops it and could see
  // that it is still there.
  bool is_watching() const {
    return record_.aborted() && source_->is_alone() && record_.keeps_any();
  }

  void watch(PyFrameObject* frame, FrameEvent event) noexcept {
    source_->attend(frame, Attention::instructions);
    guarded(frame, [&] {
      record_.count_watched();
      record_.check_dropped();
      if (event != FrameEvent::instruction || !record_.keeps_any()) return;
      const FrameView f = frame_view(frame);
      refuse_looking_call(f);
      tell_dropped(f, record_);
    });
    if (event == FrameEvent::returned || event == FrameEvent::unwound) {
      guarded(frame, [&] { leave(frame); });
    }
    if (record_.keeps_any()) return;
    source_->attend(frame, Attention::none);
    source_->quit();
  }

  // What waits in a generator's frame stays there, mostly: it is not left when it gives an item.
  void leave(PyFrameObject* frame) {
    if (dvm_frame_generator(frame) != nullptr) return;
    const FrameView f = frame_view(frame);
    std::vector<PyObject*> variables;
    for (const FrameEntry& each :
         std::span(f.locals, static_cast<size_t>(f.code->co_nlocalsplus))) {
      if (each.is_counted()) variables.push_back(each);
    }
    record_.leave_frame(variables);
  }

  // Of what runs in the skipped turns of a loop, only the frame's own places count.
  bool on_skipped(PyFrameObject* frame, FrameEvent event) noexcept {
    record_.count_skipped();
    if (!skipped_.is_of(frame)) {
      if (event == FrameEvent::call) source_->attend(frame, Attention::none);
      return false;
    }
    const bool ends = event == FrameEvent::returned || event == FrameEvent::unwound;
    if ((event != FrameEvent::turn && !ends) || record_.aborted()) return false;
    bool is_turn = false;
    guarded(frame, [&] {
      record_.check_dropped();
      const FrameView f = frame_view(frame);
      FrameRecorder& top = frames_.back().frame;
      is_turn = top.is_at_turn(f);
      switch (ends ? SkippedTurns::Passed::left : skipped_.pass(top, f)) {
        case SkippedTurns::Passed::skipped:
          return;
        case SkippedTurns::Passed::recorded:
          return source_->attend(frame, Attention::instructions);
        case SkippedTurns::Passed::left:
          record_.stop_within_skipped();
      }
    });
    if (record_.aborted()) source_->attend(frame, Attention::none);
    return is_turn;
  }

  template <typename Body>
  void guarded(PyFrameObject* frame, Body body) noexcept {
    guarded_at([frame] { return here(frame); }, body);
  }

  template <typename Here, typename Body>
  void guarded_at(Here here, Body body) noexcept {
    try {
      body();
    } catch (const Unkeepable& reason) {
      record_.discard(reason.what(), here());
    } catch (const Unrecordable& reason) {
      abort(reason.what(), here());
    } catch (const std::exception& error) {
      abort(std::string("recorder-failed\n") + error.what(), here());
    }
    // An error left behind would surface in the program.
    if (PyErr_Occurred()) {
      PyErr_Clear();
      abort("recorder-failed\nan error of the interpreter", here());
    }
  }

  // What was recorded stands, if it is of use.
  void abort(std::string reason, core::Loc loc) {
    if (record_.is_over_limit()) {
      record_.discard(std::move(reason), loc);
    } else {
      record_.abort(std::move(reason), loc);
    }
  }

  static core::Loc here(PyFrameObject* frame) {
    const FrameView f = frame_view(frame);
    return location({f.code, f.index});
  }

  void on_frame(PyFrameObject* frame, FrameEvent event, PyObject* object) {
    if (event == FrameEvent::call || event == FrameEvent::thrown) {
      return on_call(frame, event == FrameEvent::thrown);
    }
    if (event == FrameEvent::turn || find_top(frame) == nullptr) return;
    if (event == FrameEvent::exception) return on_exception(object);
    check_nothing_in_flight();
    if (event == FrameEvent::unwound) return on_stop();
    if (frames_.back().frame.is_yielding()) return on_yield(frame, object);
    on_return(object);
  }

  // Between a body that raised and the frame that ran it there was C code, which may catch.
  void check_nothing_in_flight() const {
    if (in_flight_ != kNoNode) throw Unrecordable("handled-by-c");
  }

  // A generator whose making was recorded gives its next item.
  void on_resume(PyFrameObject* frame, PyObject* generator, bool is_thrown) {
    if (frames_.empty() || !PyGen_CheckExact(generator)) return;
    FrameRecorder& caller = frames_.back().frame;
    const FrameView f = frame_view(frame);
    const bool begins = !is_thrown && f.op == Op::resume && f.arg == 0;
    auto waiting = waiting_.extract(generator);
    const bool dies = frames_.size() == dying_depth_;
    const bool runs = dies ? returned_ || dvm_frame_caller(frame) == caller.identity()
                           : runs_for_event(record_, caller, frame);
    if (begins == !waiting.empty() || is_leaf(dvm_frame_function(frame)) || !runs) {
      return;  // out of sight: what it does from here on is not known
    }
    const NodeId node = begins ? begun_node(frame, generator) : waiting.mapped().generator;
    if (node == kNoNode) return;
    if (is_thrown) {
      PyObject* const how = dies ? words().dies : closes(caller) ? words().closes : words().empty;
      thrown_ = record_.add(Kind::throws, how, std::array{node}, caller.place());
      return go_on(frame, std::move(waiting.mapped()));
    }
    record_.add(Kind::resumes, words().empty, std::array{node}, caller.place());
    if (begins) {
      const std::vector<NodeId> parameters = add_given(record_, caller, frame);
      add_enter(frame, parameters);
      push_frame(frame, parameters, false);
      frames_.back().called_back = true;
      frames_.back().generator = node;
    } else {
      waiting.mapped().frame.resume(f, sent_by(caller));
      go_on(frame, std::move(waiting.mapped()));
    }
  }

  // Of a generator that the program has made, or C code by asking an object for its iterator.
  NodeId begun_node(PyFrameObject* frame, PyObject* generator) {
    const NodeId made = record_.made_node(generator);
    if (made != kNoNode || finishes_something(generator)) return made;
    const FrameView f = frame_view(frame);
    const bool is_asked =
        f.code->co_argcount == 1 && parameter(f, 0) != nullptr &&
        special_method(Py_TYPE(parameter(f, 0)), "__iter__") == dvm_frame_function(frame);
    return is_asked ? record_.constant(generator) : kNoNode;
  }

  // What the caller sends into a generator that waits, if it is of a call that gives one thing.
  NodeId sent_by(const FrameRecorder& caller) const {
    if (caller.is_iterating()) return caller.sent();
    const core::SeenEvent& event = record_.event(caller.event());
    const auto operands = record_.data().operands_of(event);
    return event.kind == Kind::call && operands.size() == 2 ? operands[1] : kNoNode;
  }

  void go_on(PyFrameObject* frame, Followed waiting) {
    check_nothing_in_flight();
    frames_.push_back(std::move(waiting));
    source_->attend(frame, Attention::instructions);
  }

  // Whether the caller runs a generator's `close`, which takes GeneratorExit back.
  bool closes(const FrameRecorder& caller) const {
    const core::SeenEvent& event = record_.event(caller.event());
    if (event.kind != Kind::call) return false;
    PyObject* const callee = record_.object(record_.data().operands_of(event)[0]);
    return Py_IS_TYPE(callee, &PyMethodDescr_Type) &&
           std::string_view(reinterpret_cast<PyMethodDescrObject*>(callee)->d_method->ml_name) ==
               "close";
  }

  // What the last instruction has dropped, and only the recording still has, comes to its end now.
  void end_dropped() {
    if (!record_.endings().any()) return;
    std::vector<PyObject*> dropped = record_.dropped_endings();
    std::erase_if(dropped, [&](PyObject* generator) {
      return !waiting_.contains(generator) ||
             std::ranges::find(dropped_, generator, &Ref::get) != dropped_.end();
    });
    if (dropped.empty()) return;
    const auto is_on_stack = [this](PyObject* generator) {
      return record_.endings().is_for_loop(generator);
    };
    if (dropped.size() > 1 && !std::ranges::all_of(dropped, is_on_stack)) {
      throw Unkeepable("generator-tells-end");  // which one goes first, not even Python says
    }
    std::ranges::reverse(dropped);
    const size_t before = dropped_.size();
    std::ranges::transform(dropped, std::back_inserter(dropped_), &Ref::borrow);
    // If the recording ends meanwhile, those left die as they are let go.
    while (dropped_.size() > before) {
      const Ref next = std::move(dropped_.back());
      dropped_.pop_back();
      if (!record_.aborted()) finish(next.get());
    }
  }

  void finish(PyObject* generator) {
    if (dvm_generator_is_weakly_held(generator)) {
      throw Unkeepable("generator-tells-end");  // who refers to it is told before
    }
    record_.set_ended(generator);  // which it is from here on, whatever it does
    PyThreadState* const thread = PyThreadState_Get();
    const size_t around = std::exchange(dying_depth_, frames_.size());
    if (!returned_) PyThreadState_LeaveTracing(thread);  // or no callback runs by now
    PyObject_CallFinalizer(generator);                   // once: not when the recording lets go
    if (!returned_) PyThreadState_EnterTracing(thread);
    dying_depth_ = around;
    // Since 3.13 one that waits outside of all handlers is closed without running.
    DvmScopes scopes;
    if (waiting_.contains(generator) && dvm_generator_scopes(generator, &scopes)) {
      throw Unkeepable("generator-tells-end");  // it went on
    }
    waiting_.erase(generator);
  }

  void on_call(PyFrameObject* frame, bool is_thrown) {
    if (PyObject* generator = dvm_frame_generator(frame)) {
      return on_resume(frame, generator, is_thrown);
    }
    std::vector<NodeId> parameters;
    NodeId instance = kNoNode;
    bool called_back = false;
    if (frames_.empty()) {
      if (dvm_frame_function(frame) != reinterpret_cast<PyObject*>(function_)) return;
      parameters = arguments(frame_view(frame));
    } else if (is_passed_over(frame)) {
      return;
    } else if (auto entry = enter_body(record_, frames_.back().frame, frame, bounce_)) {
      parameters = std::move(entry->parameters);
      for (NodeId& node : parameters) node = record_.own(node);
      instance = entry->instance;
      record_.set_followed(frames_.back().frame.event());
      add_enter(frame, parameters);
    } else if (auto given = callbacks_.enter(record_, frames_.back().frame, frame)) {
      parameters = std::move(*given);
      called_back = true;
      add_enter(frame, parameters);
    } else {
      return;
    }
    const bool may_stop = !called_back && !frames_.empty() && frames_.back().frame.is_iterating();
    push_frame(frame, parameters, may_stop);
    frames_.back().instance = instance;
    frames_.back().called_back = called_back;
  }

  // Whether the pending event's call goes through the frame, which its recording leaves out.
  bool is_passed_over(PyFrameObject* frame) {
    const FrameRecorder& caller = frames_.back().frame;
    if (!bounce_ || bounce_->event != caller.event()) {
      bounce_ = begin_bounce(record_, caller, frame);
    }
    const bool passed = bounce_ && bounce_->passes(frame);
    if (passed) source_->attend(frame, Attention::none);
    return passed;
  }

  void push_frame(PyFrameObject* frame, std::span<const NodeId> parameters, bool may_stop) {
    check_nothing_in_flight();
    PyCodeObject* const code = frame_view(frame).code;
    if (std::ranges::any_of(
            frames_, [&](const Followed& each) { return each.frame.place().code == code; })) {
      recursive_.insert(code);
    }
    Shadow shadow;
    if (!spare_.empty()) {
      shadow = std::move(spare_.back());
      spare_.pop_back();
    }
    frames_.push_back({FrameRecorder(record_, frame, parameters, may_stop, std::move(shadow),
                                     marks_loops_ ? &loops_ : nullptr)});
    source_->attend(frame, Attention::instructions);
  }

  std::vector<NodeId> arguments(const FrameView& f) {
    record_.keep(reinterpret_cast<PyObject*>(function_));
    std::vector<NodeId> nodes;
    const int plain = f.code->co_argcount + f.code->co_kwonlyargcount;
    for (int slot = 0; slot < parameter_slots(f.code); ++slot) {
      nodes.push_back(record_.argument(slot, parameter(f, slot), slot >= plain));
    }
    return nodes;
  }

  void pop_frame() {
    spare_.push_back(frames_.back().frame.give_shadow());
    frames_.pop_back();
  }

  void add_enter(PyFrameObject* frame, std::span<const NodeId> parameters) {
    const FrameRecorder& caller = frames_.back().frame;
    PyObject* function = dvm_frame_function(frame);
    const auto operands = record_.data().operands_of(record_.event(caller.event()));
    const bool is_callee = !operands.empty() && record_.object(operands[0]) == function;
    enter_operands_.assign(parameters.begin(), parameters.end());
    enter_operands_.push_back(is_callee ? operands[0] : record_.constant(function));
    PyObject* name = reinterpret_cast<PyFunctionObject*>(function)->func_qualname;
    record_.keep(name);  // the program may give the function another
    record_.add(Kind::enter, name, enter_operands_, caller.place());
  }

  // Of several that wait and have something to finish, which one would do so first, when the
  // program drops them at once, is not known, unless loops have them, or one hands the other on.
  void check_alone(PyObject* generator) const {
    const Endings& endings = record_.endings();
    if (!endings.any() || !finishes_something(generator) || !endings.contains(generator)) return;
    for (const auto& [other, _] : waiting_) {
      if (!finishes_something(other) || !endings.contains(other)) continue;
      const bool on_stack = endings.is_for_loop(generator) && endings.is_for_loop(other);
      if (!on_stack && !endings.is_held_by(generator, other)) {
        throw Unkeepable("generator-tells-end");
      }
    }
  }

  void on_yield(PyFrameObject* frame, PyObject* item) {
    Followed& top = frames_.back();
    check_alone(record_.object(top.generator));
    const NodeId node = top.frame.yielded(item);
    record_.add(Kind::yields, words().empty, std::span(&node, 1), top.frame.place());
    source_->attend(frame, Attention::none);
    waiting_.emplace(record_.object(top.generator), std::move(top));
    frames_.pop_back();
  }

  void on_return(PyObject* value) {
    const Followed& top = frames_.back();
    const bool called_back = top.called_back, is_generator = top.generator != kNoNode;
    if (is_generator) record_.set_ended(record_.object(top.generator));
    NodeId node = frames_.back().frame.returned(value);
    if (frames_.size() == 1) {
      record_.set_result(node);
      returned_ = !waiting_.empty();
      finished_ = !returned_;
      if (returned_) return;
    } else {
      const Place place = top.frame.place();
      const int32_t left = record_.add(Kind::leave, words().empty, std::span(&node, 1), place);
      // What calls of one function return are several values, though each is the constant 0.
      const bool is_apart = !is_generator && recursive_.contains(place.code);
      if (is_apart) node = record_.add_result(left, value);
      if (top.instance != kNoNode) node = top.instance;
    }
    pop_frame();
    if (finished_) return;
    if (is_generator) frames_.back().frame.set_ending(node);
    if (!called_back) frames_.back().frame.set_followed(node);
  }

  // The frame gave no further item, or an exception leaves it.
  void on_stop() {
    end_dropped();  // the interpreter has emptied the frame's stack
    if (record_.aborted()) return;
    const FrameRecorder& top = frames_.back().frame;
    const NodeId generator = frames_.back().generator;
    if (generator != kNoNode) record_.set_ended(record_.object(generator));
    if (top.is_stopped()) {
      record_.add(Kind::leave, words().exhausted, {}, top.place());
    } else {
      const NodeId exception = top.raising();
      if (exception == kNoNode) throw Unrecordable("unknown-exception");
      if (frames_.size() == 1) throw Unrecordable("exception-left");
      record_.add(Kind::leave, words().raised, std::span(&exception, 1), top.place());
      if (exception != frames_.back().closed_by) in_flight_ = exception;
    }
    pop_frame();
  }

  // The generator on top meets what was thrown into it, where it waited.
  void on_thrown(PyObject* exception) {
    const int32_t event = std::exchange(thrown_, -1);
    const NodeId node = record_.add_result(event, exception);
    Followed& top = frames_.back();
    if (record_.event(event).name != words().empty) top.closed_by = node;
    top.frame.raise(node);
  }

  void on_exception(PyObject* exception) {
    if (thrown_ >= 0) return on_thrown(exception);
    if (reinterpret_cast<PyObject*>(Py_TYPE(exception)) == PyExc_StopIteration) {
      FrameRecorder& top = frames_.back().frame;
      if (top.is_iterating() || top.stop()) return;
    }
    const NodeId coming = std::exchange(in_flight_, kNoNode);
    if (coming == kNoNode) return frames_.back().frame.raise(exception);
    if (record_.object(coming) != exception) {
      throw Unrecordable("exception-turned");
    }
    frames_.back().frame.raise(coming);
  }

  Record& record_;
  PyFunctionObject* function_;
  bool marks_loops_;
  CodeLoops loops_;
  std::deque<Followed> frames_;
  Callbacks callbacks_;
  std::unordered_set<PyCodeObject*> recursive_;      // of functions that have called themselves
  std::unordered_map<PyObject*, Followed> waiting_;  // frames of generators, which the record keeps
  std::vector<Shadow> spare_;                        // of frames that are over
  std::vector<NodeId> enter_operands_;               // of one event; a member for its memory's sake
  Effects may_have_ = {true, true};  // to what the recording holds, since that was looked at
  std::optional<Bounce> bounce_;     // of the event of the frame on top, if it is of that still
  SkippedTurns skipped_;
  // And not finished yet: those that are in turn, last first. They live until then, whatever the
  // recording lets go.
  std::vector<Ref> dropped_;
  size_t dying_depth_ = 0;  // of the frames, where one that the program has dropped finishes
  int32_t thrown_ = -1;     // the event of an exception that a generator is about to meet
  EventSource* source_ = nullptr;
  NodeId in_flight_ = kNoNode;  // the exception that left a followed body, until its caller has it
  bool finished_ = false;
  bool returned_ = false;  // but generators wait, which may die with the frame's variables
};

thread_local int recordings = 0;

}  // namespace

Trace record_call(PyFunctionObject* function, const std::function<PyObject*()>& call,
                  bool marks_loops, Limits limits) {
  Trace recorded{std::make_unique<Record>(), {}};
  Record& record = *recorded.record;
  record.limit(std::move(limits));
  Recorder recorder(record, function, marks_loops);
  const std::unique_ptr<EventSource> source = begin_events(recorder);
  ++recordings;
  recorder.read(source.get());
  recorded.result = Ref::steal(call());
  if (recorded.result) recorder.end();
  if (!source) {
    record.abort("no-place-to-record", {});
  } else if (!source->end()) {
    record.abort("trace-function-set", {});
  }
  --recordings;
  if (!recorder.is_finished()) record.abort("no-return", {});
  if (record.endings().any()) record.discard("generator-tells-end", {});
  return recorded;
}

Trace trace_call(PyFunctionObject* function, PyObject* const* bound, Limits limits) {
  return record_call(
      function, [&] { return call_bound(function, bound); }, true, std::move(limits));
}

bool is_recording() { return recordings > 0; }

}  // namespace dvm::capture
