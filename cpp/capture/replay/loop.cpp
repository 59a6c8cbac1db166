#include "capture/replay/loop.h"

#include <algorithm>
#include <utility>

#include "capture/cpython/interruption.h"
#include "capture/replay/frame.h"
#include "capture/replay/lock.h"
#include "capture/replay/numbers/stretch.h"
#include "capture/replay/other_threads.h"
#include "vm/target/watch.h"

namespace dvm::capture {

namespace {

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

bool Loop::may_learn(const Frame& frame) const {
  // Who wants to know what kernels do is shown kernels.
  return frame.call.times == nullptr && frame.call.missed == nullptr &&
         vm::Watch::current() == nullptr && !paths().empty() && paths()[0]->options.target == "cpu";
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
  const Flight flight = begin();
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
  numbers::Stretch stretch(learning_, paths(),
                           learning_.changes(paths(), layout_.variables, layout_.carried),
                           frame.undo(), draws);
  for (int64_t number = 0, unbroken = 0;; ++number) {
    if (dvm_is_interrupted()) {
      result.outcome = Outcome::interrupted;
      return nullptr;
    }
    // As Python does between two instructions. Then nothing need be what it was.
    const bool breaks = unbroken++ % OtherThreads::kUnbroken == 0;
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
    result.outcome = replay(call);
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
  learning_ = {};
  Subroutine::clear();
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
  return define_result(f, p[0], value, outcome);
}

bool lend_(Frame& f, const int32_t* p) {
  if (f.call.undo == nullptr) f.own_undo.open(f[p[0]]);
  f.call.lends = true;
  return true;
}

}  // namespace steps

bool is_loop(PyObject* object) {
  return is_subroutine(object) && dynamic_cast<const Loop*>(&subroutine_of(object)) != nullptr;
}

Loop& loop_of(PyObject* object) { return static_cast<Loop&>(subroutine_of(object)); }

}  // namespace dvm::capture
