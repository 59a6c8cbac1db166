#include "capture/compiled_function.h"

#include <algorithm>
#include <unordered_map>

#include "capture/binding.h"
#include "capture/call_load.h"
#include "capture/cpython/frame_parts.h"
#include "capture/path/path_tree.h"
#include "capture/path/plain_bits.h"
#include "capture/path/reasons.h"
#include "capture/record/recorder.h"
#include "capture/replaced_builtins.h"
#include "capture/replay/interrupted.h"
#include "capture/replay/likely.h"
#include "capture/replay/loop.h"
#include "capture/stack_room.h"
#include "capture/stance.h"
#include "capture/thread_clock.h"
#include "core/error.h"

namespace dvm::capture {

namespace {

// Instructions of a call, about a millisecond under the tracer, behind which turns of a loop that
// has many more are run without it.
constexpr int64_t kSkipTurnsAfter = 2500;

PyCodeObject* code_of(const Ref& function) {
  return reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get()));
}

PyFunctionObject* as_function(const Ref& function) {
  return reinterpret_cast<PyFunctionObject*>(function.get());
}

// Why a function of this kind is never captured, or empty.
std::string refusal_of(const PyCodeObject* code) {
  if (code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) return "coroutine-function";
  if (code->co_flags & CO_GENERATOR) return "generator-function";
  return {};
}

// What the first capture of a process imports is no part of the price of any.
void import_lowering() {
  static bool imported = false;  // the interpreter's lock guards it
  if (std::exchange(imported, true)) return;
  for (const char* name : {"dvm.magpy_capture", "dvm.explaining.inspection", "dvm.repro"}) {
    if (!Ref::steal(PyImport_ImportModule(name))) PyErr_Clear();  // the lowering will say so
  }
}

// One from C code to Python's, for which has_stack_room answers.
struct AllowedCall {
  AllowedCall() { dvm_allow_c_calls(1); }
  ~AllowedCall() { dvm_allow_c_calls(-1); }
  AllowedCall(const AllowedCall&) = delete;
};

CompiledFunction::Observer g_observer = nullptr;

void tell(PyObject* compiled, const Event& event) {
  if (g_observer != nullptr) g_observer(compiled, event);
}

// A warning of dvm's own, which never raises; an exception that is on its way stays so.
void warn(const PyFunctionObject* function, const std::string& reason) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const std::string text = std::string("dvm: ") + printable(function->func_qualname) + " " +
                           reason_text(reason) + " (see its stats)";
  const Ref warnings = Ref::steal(PyImport_ImportModule("dvm.own_warnings"));
  if (warnings) {
    Ref::steal(PyObject_CallMethod(warnings.get(), "warn", "s", text.c_str()));
  }
  PyErr_Restore(type, value, traceback);  // what else was raised is forgotten
}

// Of a function that calls itself, the outermost call is the unit: what runs as it is calls itself
// as it is.
class PlainRun {
 public:
  explicit PlainRun(PlainThread& of) : of_(of), is_outermost_(!of.is_any()) {
    if (is_outermost_) of_ = PlainThread::present();
  }
  ~PlainRun() {
    if (is_outermost_) of_ = {};
  }
  PlainRun(const PlainRun&) = delete;
  PlainRun& operator=(const PlainRun&) = delete;

 private:
  PlainThread& of_;
  const bool is_outermost_;
};

// Those at which the loops of a path have met what they know no way for.
void add_missed_turns(const Path& path, std::vector<int64_t>& turns) {
  for (const Step& step : path.steps) {
    if (step.op != StepOp::loop_) continue;
    const int64_t turn = loop_of(path.object(path.operands(step)[1])).missed_turn();
    if (turn >= 0) turns.push_back(turn);
  }
}

// Events of long calls but for those that further turns of loops repeat. Short ones are not rolled.
int64_t distinct_events(const core::Recording& recording) {
  constexpr int64_t kLong = 500, kTurns = 8;
  const auto all = std::ssize(recording.events);
  if (all <= kLong) return all;
  std::unordered_map<const void*, std::unordered_map<int32_t, int64_t>> times;
  return std::ranges::count_if(recording.events, [&](const core::SeenEvent& event) {
    return ++times[event.code][event.instruction] <= kTurns;
  });
}

// Where statements of a part were moved out into functions, a traceback has the frames of both.
// That of the part says no more than the other, and the function as it was has but one.
void hide_call_of_moved(PyObject* part) {
  const long calls_from = PyLong_AsLong(PyTuple_GET_ITEM(part, 1));
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  if (trace != nullptr) {
    const auto* entry = reinterpret_cast<PyTracebackObject*>(trace);
    const Ref code = Ref::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(entry->tb_frame)));
    const bool is_part = code.get() == PyFunction_GetCode(PyTuple_GET_ITEM(part, 0));
    if (is_part && entry->tb_next != nullptr && entry->tb_lasti >= calls_from) {
      Py_SETREF(trace, Py_NewRef(reinterpret_cast<PyObject*>(entry->tb_next)));
    }
  }
  PyErr_Restore(type, value, trace);
}

// The locals that the part about to run is given, which it takes over (begin_part).
thread_local Ref* handed_on = nullptr;

// Whether a call's arguments are such locals, and so gone when the original has run.
bool are_handed_on(PyObject* const* arguments) {
  return handed_on != nullptr && *handed_on && PyTuple_GET_SIZE(handed_on->get()) > 0 &&
         arguments == &PyTuple_GET_ITEM(handed_on->get(), 0) + 1;
}

// The locals of a part that has not taken them over, as a frame lets go of its own: the first one
// first. A tuple begins with its last.
void drop_locals(Ref locals) {
  if (!locals || Py_REFCNT(locals.get()) > 1) return;
  PyObject_GC_UnTrack(locals.get());  // nobody shall find it with gaps
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(locals.get()); ++i) {
    const Ref local = Ref::steal(std::exchange(PyTuple_GET_ITEM(locals.get(), i), nullptr));
  }
}

// Runs a function in parts (CompiledFunction::set_parts).
PyObject* run_parts(PyObject* parts, PyObject* const* args, size_t nargsf, PyObject* keywords) {
  const Ref held = Ref::borrow(parts);  // the function may be given others meanwhile
  Ref result;
  const auto run = [&](Py_ssize_t place, PyObject* const* given, size_t count, PyObject* names) {
    PyObject* part = PyTuple_GET_ITEM(parts, place);
    PyObject* function = PyTuple_GET_ITEM(part, 0);
    result = Ref::steal(PyObject_Vectorcall(function, given, count, names));
    if (!result && PyFunction_Check(function)) hide_call_of_moved(part);
  };
  const auto hands_on = [&] {
    return result && PyTuple_CheckExact(result.get()) && PyTuple_GET_SIZE(result.get()) > 0 &&
           PyTuple_GET_ITEM(result.get(), 0) == PyTuple_GET_ITEM(parts, 0);
  };
  run(1, args, nargsf, keywords);
  if (are_handed_on(args)) begin_part();  // a part in parts, whose first one was a replay
  for (Py_ssize_t i = 2; i < PyTuple_GET_SIZE(parts) && hands_on(); ++i) {
    Ref locals = std::move(result);
    Ref* const outer = std::exchange(handed_on, &locals);
    PyObject* const* items = &PyTuple_GET_ITEM(locals.get(), 0);
    run(i, items + 1, static_cast<size_t>(PyTuple_GET_SIZE(locals.get()) - 1), nullptr);
    handed_on = outer;
    drop_locals(std::move(locals));
  }
  return result.release();
}

core::Loc first_line(const PyCodeObject* code) {
  return core::make_loc(printable(code->co_filename), code->co_firstlineno);
}

}  // namespace

void begin_part() {
  if (handed_on != nullptr) drop_locals(std::exchange(*handed_on, {}));
}

void CompiledFunction::observe(Observer observer) { g_observer = observer; }

CompiledFunction::CompiledFunction(PyFunctionObject* function, Lower lower)
    : function_(Ref::borrow(reinterpret_cast<PyObject*>(function))), lower_(lower) {
  adopt_code();
}

void CompiledFunction::adopt_code() {
  if (PyFunction_GET_CODE(function_.get()) == code_.get()) return;
  code_ = Ref::borrow(PyFunction_GET_CODE(function_.get()));
  const PyCodeObject* code = code_of(function_);
  refusal_ = refusal_of(code);
  parameters_ = parameter_count(as_function(function_));
  by_position_ = parameters_ == code->co_argcount ? parameters_ : -1;
  if (!paths_.empty()) {
    retired_.push_back(std::exchange(paths_, {}));
    replaced_ = true;
  }
  policy_ = Policy();
  parts_ = {};
  roots_.clear();
  likely_ = 0;
  free_retired();
}

void CompiledFunction::free_retired() {
  if (running_.any() || retired_.empty()) return;
  // What goes with them may call this function again.
  const auto freed = std::exchange(retired_, {});
  history_.forget_paths_but(paths_);
}

// Outcome::missed when no path takes the call. Paths may come and go while one of them runs.
Outcome CompiledFunction::find(Call& call) {
  const Flight running(running_);
  const size_t likely = likely_ < roots_.size() ? likely_ : 0;
  call.tries_several = roots_.size() > 1;
  for (size_t k = 0; k < roots_.size(); ++k) {
    const size_t i = likely_first(k, likely);
    if (i >= roots_.size()) continue;
    call.spares_opaque = !call.rehearsal && !may_lose_opaque();
    begin_anew(call.given);
    const Outcome outcome = replay(*roots_[i], call);
    if (outcome == Outcome::missed) continue;
    if (outcome == Outcome::done) likely_ = i;  // a fallback may have few guards, or none
    return outcome;
  }
  return Outcome::missed;
}

PyObject* CompiledFunction::call(PyObject* self, PyObject* const* args, size_t nargsf,
                                 PyObject* keywords) {
  const auto original = [&] {
    const PlainRun run(runs_plain_);
    const AllowedCall call;
    return PyObject_Vectorcall(function_.get(), args, nargsf, keywords);
  };
  if (!has_stack_room()) [[unlikely]] {
    PyErr_Format(PyExc_RecursionError,
                 "%U calls itself deeper than the thread's stack has room for, as each call of a "
                 "compiled function takes some of it: compile a function that calls it instead",
                 as_function(function_)->func_qualname);
    return nullptr;
  }
  // Within another function's recording this call is followed like one of a plain function.
  if (is_recording()) return original();
  if (runs_plain_.is_any() && runs_plain_ == PlainThread::present() &&
      present_stance() == Stance::default_) {
    const AllowedCall call;
    return PyObject_Vectorcall(function_.get(), args, nargsf, keywords);
  }
  ++stats_.calls;
  // A replay has no lines: breakpoints would not be met.
  if (dvm_lines_are_read(code_of(function_))) [[unlikely]] {
    ++stats_.eager;
    return original();
  }
  if (stances_in_use.load(std::memory_order_relaxed) != 0 &&
      present_stance() == Stance::force_eager_) [[unlikely]] {
    ++stats_.eager;
    return original();
  }
  adopt_code();
  if (!refusal_.empty()) return uncompiled(args, nargsf, keywords, original);
  const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
  const bool as_it_is = count == by_position_ && keywords == nullptr;
  Binding binding(as_it_is ? 0 : parameters_);
  if (!as_it_is && !binding.bind(as_function(function_), args, count, keywords)) {
    if (PyErr_Occurred()) return nullptr;
    return original();
  }
  Call call{.arguments = as_it_is ? args : binding.slots(), .history = &history_};
  if (policy_.rests()) [[unlikely]] {
    const auto rest = [&] { return plain(call, Times(), original); };
    if (!has_compiled_paths()) return uncompiled(args, nargsf, keywords, rest);
    ++stats_.fallbacks;  // the original is faster than a replay, and so than other ways
    return rest();
  }
  const bool compares = policy_.watches() && present_stance() == Stance::default_;
  const Times begin = compares ? times() : Times();
  const Outcome outcome = find_again(call);
  switch (outcome) {
    case Outcome::done:
      ++stats_.hits;
      if (compares && policy_.wants_hit()) [[unlikely]] {
        policy_.hit(load_of(call), since(begin));
      } else {
        policy_.hit();
      }
      return call.value;
    case Outcome::raised:
      return nullptr;
    case Outcome::interrupted:
      ++stats_.fallbacks;
      if (PyErr_Occurred()) return raise_within(code_of(function_), call.interrupted_at, original);
      why_ = "interrupted";
      return original();
    case Outcome::missed:
    case Outcome::spared:
      return missed(self, call, begin);
    case Outcome::dropped:
      ++stats_.drops;
      if (const Event* drop = history_.take_new_drop(stats_.calls)) tell(self, *drop);
      return plain(call, begin, original);
    case Outcome::fallback:
      if (present_stance() == Stance::default_ && !has_compiled_paths()) policy_.found_nothing();
      return uncompiled(args, nargsf, keywords, [&] { return plain(call, begin, original); });
  }
  __builtin_unreachable();
}

Outcome CompiledFunction::find_again(Call& call) {
  for (bool again = false;; again = true) {
    const Outcome outcome = find(call);
    const bool waits = outcome == Outcome::interrupted && !PyErr_Occurred();
    stats_.opaque += call.opaque;
    if (outcome != Outcome::missed) ++call.path->hits;
    if (call.opaque > 0 && outcome != Outcome::done && outcome != Outcome::raised &&
        outcome != Outcome::interrupted) {
      ++lost_opaque_;
    }
    // A second time it is for the original: what comes every few milliseconds would come for ever.
    if (!waits || !take_interruption() || again) return outcome;
    call = {.arguments = call.arguments, .history = call.history};
  }
}

bool CompiledFunction::has_compiled_paths() const {
  return std::ranges::any_of(paths_, [](const auto& path) { return path->reason().empty(); });
}

double CompiledFunction::load_of(const Call& call) const {
  return capture::load_of({call.arguments, static_cast<size_t>(parameters_)});
}

// What such a function did cannot be taken back.
bool CompiledFunction::may_lose_opaque() const {
  constexpr int64_t kSpare = 8;
  return lost_opaque_ < stats_.captures + kSpare + stats_.hits / kSpare;
}

PyObject* CompiledFunction::timed_call(PyObject* const* args, size_t nargsf, PyObject* keywords,
                                       runtime::CallTimes& times) {
  adopt_code();
  Binding binding(parameters_);
  if (!refusal_.empty() ||
      !binding.bind(as_function(function_), args, PyVectorcall_NARGS(nargsf), keywords)) {
    return nullptr;
  }
  Call call{.arguments = binding.slots(), .times = &times, .rehearsal = true};
  find(call);
  return call.value;
}

template <typename Original>
PyObject* CompiledFunction::plain(const Call& call, const Times& begin, const Original& original) {
  if (!policy_.wants_plain()) return original();
  const double load = load_of(call);
  const Times middle = times();
  PyObject* result = original();
  policy_.plain(load, since(middle), begin.wall != 0 ? middle.cpu - begin.cpu : 0);
  return result;
}

template <typename Original>
PyObject* CompiledFunction::uncompiled(PyObject* const* args, size_t nargsf, PyObject* keywords,
                                       const Original& original) {
  if (parts_) {
    ++stats_.splits;
    return run_parts(parts_.get(), args, nargsf, keywords);
  }
  ++stats_.fallbacks;
  return original();
}

// No path takes the call; what becomes of it is for the stance to say.
PyObject* CompiledFunction::missed(PyObject* self, Call& call, const Times& begin) {
  PyObject* const* bound = call.arguments;
  switch (present_stance()) {
    case Stance::eager_on_recompile_:
      ++stats_.eager;
      return call_bound(as_function(function_), bound);
    case Stance::fail_on_recompile_: {
      ++stats_.eager;
      const std::vector<Miss> why = misses_of(bound);
      if (PyErr_Occurred()) return nullptr;
      core::fail(core::ErrorCode::recompile, first_line(code_of(function_)),
                 std::string("a call of ") + printable(as_function(function_)->func_qualname) +
                     " would be captured: " + (why.empty() ? "it is the first" : why.back().text));
    }
    default:
      const auto original = [&] {
        const PlainRun run(runs_plain_);
        return call_bound(as_function(function_), bound);
      };
      if (paths_.size() >= static_cast<size_t>(kMaxPaths)) {
        ++stats_.misses;
        ++stats_.fallbacks;
        Ref result = Ref::steal(plain(call, begin, original));
        if (!std::exchange(warned_, true)) warn(as_function(function_), limit());
        return result.release();
      }
      const bool at_any_cost = present_stance() == Stance::force_capture_ && !call.spares_opaque;
      if (!policy_.may_capture(stats_.hits) && !at_any_cost) {
        ++stats_.fallbacks;
        why_ = call.spares_opaque ? "opaque-lost" : "";
        return plain(call, begin, original);
      }
      ++stats_.misses;
      return capture(self, call);
  }
}

PyObject* CompiledFunction::capture(PyObject* self, Call& call) {
  PyObject* const* bound = call.arguments;
  PyFunctionObject* function = as_function(function_);
  // One at a time, for paths share what is known of loops: of two that are made at once, one would
  // be out of date at once.
  if (capturing_.any()) {
    ++stats_.fallbacks;
    why_ = "captured-meanwhile";
    return call_bound(function, bound);
  }
  const auto finds_replaced = [&] {
    const char* name = replaced_builtin();
    if (name == nullptr) return false;
    ++stats_.fallbacks;
    why_ = std::string("builtin-replaced\n") + name;
    return true;
  };
  if (finds_replaced()) return call_bound(function, bound);
  const Flight capturing(capturing_);
  struct NoteBits {
    CompiledFunction& of;
    ~NoteBits() {
      of.policy_.may_rest(std::ranges::all_of(of.paths_, [](const auto& path) {
        return !path->reason().empty() || has_plain_bits(*path);
      }));
    }
  } const note_bits{*this};
  free_retired();
  const int64_t number = stats_.calls;
  // To explain is to replay once more: not where that calls what dvm does not know.
  const bool again = call.opaque == 0 && !call.spares_opaque;
  std::vector<Miss> why = again ? misses_of(bound) : std::move(call.lost);
  if (PyErr_Occurred()) return nullptr;
  const Ref code = code_;
  import_lowering();
  const Times begin = times();
  const bool at_any_cost = present_stance() == Stance::force_capture_;
  Limits limits;
  if (!at_any_cost) limits.most_opcodes = policy_.most_opcodes();
  if (may_skip_turns_) limits.skip_turns_after = kSkipTurnsAfter;
  for (const auto& path : paths_) add_missed_turns(*path, limits.wanted_turns);
  const bool gives_arguments = are_handed_on(bound);
  const double load = load_of(call);
  Trace trace = trace_call(function, bound, std::move(limits));
  std::vector<PyObject*> recorded_arguments;
  if (gives_arguments) {
    recorded_arguments = trace.record->arguments();
    bound = recorded_arguments.data();
  }
  const core::Recording& recording = trace.record->data();
  const bool skipped = trace.record->skipped() > 0;
  Policy::Traced traced{load, distinct_events(recording), recording.opcodes, since(begin).cpu};
  policy_.recorded(traced);
  using Known = Policy::Known;
  const auto put_off = [&](int64_t expected, Known known) {
    ++stats_.fallbacks;
    const int64_t behind = since(begin).cpu - traced.nanos;
    policy_.put_off(traced.tracer + behind, traced.tracer + expected, known);
    return trace.result.release();
  };
  if (!trace.result) {  // the user's own exception: no path to keep
    policy_.captured(traced, 0);
    if (stats_.captures == 0) {  // or else it is an exception to what is captured
      const auto* type = reinterpret_cast<PyTypeObject*>(PyErr_Occurred());
      why_ = std::string("call-raised\n") + type->tp_name;
    }
    return nullptr;
  }
  if (finds_replaced()) return trace.result.release();  // by the call itself
  const int64_t budget = at_any_cost ? INT64_MAX : policy_.budget() - traced.tracer;
  const int64_t expected = policy_.expected_of(traced.events);
  if (trace.record->is_over_limit()) {
    may_skip_turns_ = may_skip_turns_ && !trace.record->is_left_within_skipped();
    return put_off(expected + traced.tracer, Known::no_end);
  }
  if (expected > budget) return put_off(expected, Known::about);
  int64_t most = at_any_cost ? INT64_MAX : budget + Policy::kAtOnce;
  const auto count = gives_arguments ? std::ssize(recorded_arguments) : parameters_;
  std::unique_ptr<Path> path = lower_(self, trace, bound, count, most);
  const int64_t lowered = since(begin).cpu - traced.nanos;
  if (path == nullptr) {
    if (PyErr_Occurred()) return nullptr;
    return put_off(std::max(2 * lowered, most), Known::at_least);
  }
  // With the turns that it lacks, another recording may become a path.
  if (skipped && !path->reason().empty()) {
    may_skip_turns_ = false;
    // All events of all turns, if those that were skipped are like the others.
    const double times = 1 + static_cast<double>(trace.record->skipped()) /
                                 static_cast<double>(std::max<int64_t>(1, recording.opcodes));
    const double events = times * static_cast<double>(recording.events.size());
    const int64_t price = policy_.expected_of(static_cast<int64_t>(events));
    return put_off(std::max(2 * lowered, price), Known::at_least);
  }
  // The function itself may have replaced its code, or called itself, meanwhile.
  if (code.get() != code_.get()) return trace.result.release();
  const size_t before = paths_.size();
  const Path& installed = *install(std::move(path), paths_, roots_, !running_.any());
  const bool compiled = installed.reason().empty();
  policy_.captured(traced, since(begin).cpu - traced.nanos);
  why_.clear();
  if (compiled) {
    if (stats_.captures++ > 0) ++stats_.recaptures;
  } else {
    ++stats_.fallbacks;
  }
  replaced_ = false;
  if (paths_.size() > before) {
    tell(self, history_.added(installed, number, std::move(why)));
  }
  return trace.result.release();
}

std::string CompiledFunction::limit() const {
  if (!warned_ || paths_.size() < static_cast<size_t>(kMaxPaths)) {
    const std::string why = policy_.why();
    return why_.empty() ? why : why_;
  }
  return "path-limit\n" + std::to_string(kMaxPaths);
}

std::vector<Miss> CompiledFunction::explain_miss(PyObject* const* args, size_t nargsf,
                                                 PyObject* keywords) {
  const auto only = [](std::string text) {
    std::vector<Miss> reasons(1);
    reasons[0].text = std::move(text);
    return reasons;
  };
  adopt_code();
  if (!refusal_.empty()) return only(reason_text(refusal_));
  Binding binding(parameters_);
  if (!binding.bind(as_function(function_), args, PyVectorcall_NARGS(nargsf), keywords)) {
    return only("the arguments do not fit the signature");
  }
  return misses_of(binding.slots());
}

std::vector<Miss> CompiledFunction::misses_of(PyObject* const* bound) {
  std::vector<Miss> reasons;
  if (replaced_) {
    reasons.push_back({"code", "the code of the function", "", "",
                       "the code of the function was replaced", first_line(code_of(function_))});
  }
  const Flight running(running_);
  for (size_t i = 0; i < roots_.size(); ++i) {
    Call call{.arguments = bound,
              .parameters = code_of(function_)->co_localsplusnames,
              .missed = &reasons,
              .rehearsal = true};
    const Outcome outcome = replay(*roots_[i], call);
    Py_XDECREF(call.value);
    if (outcome == Outcome::dropped) return {reasons.back()};
    if (outcome != Outcome::missed) return {};
  }
  return reasons;
}

void CompiledFunction::clear() {
  refusal_ = "collected";
  parts_ = {};
  roots_.clear();
  retired_.push_back(std::exchange(paths_, {}));
  free_retired();
}

int CompiledFunction::traverse(visitproc visit, void* arg) const {
  Py_VISIT(function_.get());
  Py_VISIT(code_.get());
  Py_VISIT(parts_.get());
  for (const auto& path : paths_) {
    if (const int status = path->traverse(visit, arg)) return status;
  }
  for (const auto& paths : retired_) {
    for (const auto& path : paths) {
      if (const int status = path->traverse(visit, arg)) return status;
    }
  }
  return 0;
}

}  // namespace dvm::capture
