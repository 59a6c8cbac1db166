#include "capture/replay/loop.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "capture/cpython311/interruption.h"
#include "capture/path/path_tree.h"
#include "capture/replay/frame.h"
#include "capture/replay/likely.h"
#include "capture/replay/lock.h"
#include "capture/replay/numbers/stretch.h"
#include "vm/target/watch.h"

namespace dvm::capture {

namespace {

constexpr int64_t kUnbroken = 8;  // turns between two looks at other threads

// Lets other threads have the interpreter's lock between two turns about as often as Python does
// between two instructions. A path that holds the lock to its end must not: it is given up once the
// others have waited for long, and the original lets them run.
class OtherThreads {
 public:
  explicit OtherThreads(bool holds_lock) : holds_lock_(holds_lock) {}

  // False: give up.
  bool let_run(bool holds_lock) {
    const auto now = Clock::now();
    if (holds_lock_ || holds_lock) return now - since_ < kLongest || !are_there();
    if (now - since_ < kSwitchInterval) return true;
    since_ = now;
    const Unlocked unlocked(true);
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kSwitchInterval{5}, kLongest{1000};

  static bool are_there() {
    return PyThreadState_Next(PyInterpreterState_ThreadHead(PyInterpreterState_Get())) != nullptr;
  }

  const bool holds_lock_;
  Clock::time_point since_ = Clock::now();
};

Ref tuple_of(const Ref& first, const std::vector<Ref>& variables,
             const std::vector<int32_t>& slots) {
  Ref tuple = Ref::steal(PyTuple_New(std::ssize(slots) + 1));
  if (!tuple) return tuple;
  PyTuple_SET_ITEM(tuple.get(), 0, Py_NewRef(first.get()));
  Py_ssize_t place = 1;
  for (const int32_t slot : slots) {
    PyTuple_SET_ITEM(tuple.get(), place++, Py_NewRef(variables[static_cast<size_t>(slot)].get()));
  }
  return tuple;
}

}  // namespace

bool Loop::add(std::unique_ptr<Path> path) {
  return install(std::move(path), paths_, roots_, !running_.any())->reason().empty();
}

bool Loop::may_learn(const Frame& frame) const {
  // Who wants to know what kernels do is shown kernels.
  return frame.call.times == nullptr && frame.call.missed == nullptr &&
         vm::Watch::current() == nullptr && !roots_.empty() && roots_[0]->options.target == "cpu";
}

Outcome Loop::turn(Call& call) {
  const size_t mark = call.draws->mark();
  for (size_t k = 0; k < roots_.size(); ++k) {
    const size_t i = likely_first(k, likely_);
    call.draws->begin_again(mark);
    const Outcome outcome = replay(*roots_[i], call);
    if (outcome == Outcome::missed && !call.wrote) continue;
    likely_ = i;
    return outcome;
  }
  return Outcome::missed;
}

Loop::Result Loop::run(Frame& frame, PyObject* iterator, std::span<PyObject* const> given) {
  Result result;
  Draws& draws = frame.draws();
  const bool had_settled = draws.has_settled();
  result.value = run_turns(frame, iterator, given, result);
  result.drew = draws.has_settled();
  draws.note_settled(had_settled || result.drew);
  return result;
}

PyObject* Loop::run_turns(Frame& frame, PyObject* iterator, std::span<PyObject* const> given,
                          Result& result) {
  const Flight flight(running_);
  missed_turn_ = -1;
  std::vector<Ref> variables;
  for (PyObject* const object : given) variables.push_back(Ref::borrow(object));
  std::vector<PyObject*> arguments(given.size() + 1);
  const bool holds_lock = frame.call.holds_lock || !may_unlock(frame);
  const bool learns = may_learn(frame);
  OtherThreads others(holds_lock);
  Draws& draws = frame.draws();
  const size_t mark = draws.mark();
  numbers::Items items(iterator);
  numbers::Stretch stretch(learning_, paths_,
                           learning_.changes(paths_, layout_.variables, layout_.carried),
                           frame.undo(), draws);
  for (int64_t number = 0, unbroken = 0;; ++number) {
    if (dvm_is_interrupted()) {
      result.outcome = Outcome::interrupted;
      return nullptr;
    }
    // As Python does between two instructions. Then nothing need be what it was.
    const bool breaks = unbroken++ % kUnbroken == 0;
    if (breaks) stretch.forget();
    if (breaks && !others.let_run(!draws.is_empty())) {
      result.outcome = Outcome::dropped;
      return nullptr;
    }
    Ref item;
    numbers::Stretch::Result made;
    if (!stretch.run(variables, items, item, made)) {
      result.outcome = Outcome::dropped;
      return nullptr;
    }
    number += made.turns;
    result.wrote = result.wrote || made.turns > 0;
    count_turns_of_numbers(made.turns);
    if (made.was_long) unbroken = 0;
    if (made.ended) {
      note_count(number);
      return tuple_of(layout_.end, variables, layout_.at_end).release();
    }
    std::ranges::transform(variables, arguments.begin(), [](const Ref& ref) { return ref.get(); });
    arguments.back() = item.get();
    std::vector<Ref> registers;
    Call call{.arguments = arguments.data(),
              .times = frame.call.times,
              .missed = frame.call.missed,
              .spares_opaque = frame.call.spares_opaque,
              .holds_lock = holds_lock,
              .registers = learns && stretch.wants(number) ? &registers : nullptr,
              .undo = &frame.undo(),
              .draws = &draws};
    result.outcome = turn(call);
    frame.call.opaque += call.opaque;
    frame.call.turns += 1 + call.turns;
    ++turns_replayed_;
    result.wrote = result.wrote || call.wrote || result.outcome == Outcome::done;
    if (result.outcome != Outcome::done) {
      frame.refused = static_cast<Refusal>(call.refused);
      if (result.outcome == Outcome::missed) missed_turn_ = number;
      return nullptr;
    }
    Ref value = Ref::steal(call.value);
    if (!draws.settle(mark)) {
      result.outcome = Outcome::dropped;
      return nullptr;
    }
    if (PyLong_AsLong(PyTuple_GET_ITEM(value.get(), 0)) != kNext) return value.release();
    stretch.learn(*call.path, std::move(registers));
    Py_ssize_t place = 1;
    for (const int32_t slot : layout_.carried) {
      variables[static_cast<size_t>(slot)] = Ref::borrow(PyTuple_GET_ITEM(value.get(), place++));
    }
  }
}

void Loop::note_count(int64_t turns) {
  if (!watched_ || is_steady()) return;
  if (watched_->calls++ == 0) watched_->turns = turns;
  if (watched_->turns != turns) watched_.reset();
  if (is_steady()) changed();
}

void Loop::clear() {
  changed();
  roots_.clear();
  learning_ = {};
  const auto freed = std::exchange(paths_, {});  // what goes with them may run code
}

int Loop::traverse(visitproc visit, void* arg) const {
  for (const auto& path : paths_) {
    if (const int status = path->traverse(visit, arg)) return status;
  }
  return 0;
}

namespace steps {

bool loop_(Frame& f, const int32_t* p) {
  Loop& loop = loop_of(f.path->object(p[1]));
  const int32_t count = p[3], version = p[4 + count];
  if (version != loop.version()) return false;
  std::vector<PyObject*> variables;
  for (int32_t i = 0; i < count; ++i) variables.push_back(f[p[4 + i]]);
  // The turns ask for the program's own error state. Iterators warn of nothing.
  f.raising.leave();
  const auto [value, outcome, wrote, drew] = loop.run(f, p[2] < 0 ? nullptr : f[p[2]], variables);
  const bool is_spent = (f.call.lends && wrote) || drew;
  f.call.wrote = f.call.wrote || is_spent;
  f.is_spent = is_spent && value == nullptr;
  // What is not a way that no turn has gone yet is for the original.
  if (value == nullptr && outcome != Outcome::missed) {
    const bool is_told = outcome == Outcome::spared || outcome == Outcome::interrupted;
    f.outcome = is_told ? outcome : Outcome::dropped;
  }
  return f.define(p[0], value);
}

bool lend_(Frame& f, const int32_t* p) {
  if (f.call.undo == nullptr) f.own_undo.open(f[p[0]]);
  f.call.lends = true;
  return true;
}

}  // namespace steps

namespace {

struct LoopObject {
  PyObject_HEAD Loop* loop;
};

PyTypeObject* g_loop_type = nullptr;

LoopObject* cast_loop(PyObject* object) { return reinterpret_cast<LoopObject*>(object); }

int traverse_loop(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return cast_loop(self)->loop ? cast_loop(self)->loop->traverse(visit, arg) : 0;
}

int clear_loop(PyObject* self) {
  cast_loop(self)->loop->clear();
  return 0;
}

void destroy_loop(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  delete cast_loop(self)->loop;
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot g_loop_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_loop)},
                              {Py_tp_clear, reinterpret_cast<void*>(clear_loop)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(destroy_loop)},
                              {0, nullptr}};

PyType_Spec g_loop_spec = {
    "dvm.Loop", sizeof(LoopObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, g_loop_slots};

}  // namespace

PyObject* make_loop_type() {
  PyObject* const type = PyType_FromSpec(&g_loop_spec);
  g_loop_type = reinterpret_cast<PyTypeObject*>(type);
  return type;
}

PyObject* new_loop(Loop::Layout layout) {
  PyObject* const self = g_loop_type->tp_alloc(g_loop_type, 0);
  if (self != nullptr) cast_loop(self)->loop = new Loop(std::move(layout));
  return self;
}

bool is_loop(PyObject* object) { return Py_IS_TYPE(object, g_loop_type); }

Loop& loop_of(PyObject* object) { return *cast_loop(object)->loop; }

}  // namespace dvm::capture
