#include "capture/replay/replay.h"

#include <algorithm>
#include <new>
#include <utility>

#include "capture/path/explain_step.h"
#include "capture/replay/dropped_values.h"
#include "capture/replay/frame.h"
#include "capture/replay/registers.h"
#include "core/error.h"
#include "runtime/execute/faults.h"

namespace dvm::capture {

namespace {

// Inlined: a step costs little more than the choice of it.
[[gnu::always_inline]] inline bool run_step(Frame& frame, StepOp op, const int32_t* operands) {
  switch (op) {
#define DVM_STEP(name, category, letters, synopsis) \
  case StepOp::name##_:                             \
    return steps::name##_(frame, operands);
#include "capture/path/steps.def"
#undef DVM_STEP
  }
  __builtin_unreachable();
}

// Whether a failed step's exception must reach the user, come what may. Where recursion went too
// deep, running every original on the way out would double the calls per level.
bool must_raise() {
  return PyErr_Occurred() &&
         (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_RecursionError));
}

bool is_interrupted(const Frame& frame) {
  if (frame.committed) return false;
  return frame.outcome == Outcome::interrupted ||
         (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt));
}

// Before the commit nothing may stay behind.
Outcome give_up(Frame& frame, Outcome outcome) {
  frame.raising.leave();
  frame.own_undo.take_back();
  return frame.own_draws.restore() ? outcome : Outcome::raised;
}

// A C++ exception. What dvm cannot do, the original may: sizes beyond its limits, memory that it
// has none of. All else is a bug, and told.
Outcome failed(Frame& frame, const Step& step, const std::exception& error) {
  const auto* const ours = dynamic_cast<const core::Error*>(&error);
  if (frame.committed) throw;
  if (ours != nullptr && ours->code() != core::ErrorCode::unsupported) {
    give_up(frame, Outcome::raised);
    throw;
  }
  PyErr_Clear();
  frame.refused = ours != nullptr ? Refusal::limit_ : Refusal::memory_;
  if (frame.call.missed) frame.call.missed->push_back(explain_drop(frame, step));
  if (frame.call.history) frame.call.history->dropped(frame, step);
  return give_up(frame, Outcome::dropped);
}

Outcome run_steps(Frame& frame, const Step*& step) {
  for (;;) {
    if (!frame.committed && runtime::is_faulty()) [[unlikely]]
      throw std::bad_alloc();
    if (run_step(frame, step->op, frame.path->operands(*step))) [[likely]] {
      ++step;
      continue;
    }
    if (frame.outcome == Outcome::spared) return give_up(frame, Outcome::spared);
    if (is_interrupted(frame)) {
      frame.call.interrupted_at = frame.path->location(*step);
      return give_up(frame, Outcome::interrupted);
    }
    // What a turn of a loop could not compute is a drop, not a miss.
    const bool drops = frame.outcome == Outcome::dropped;
    switch (drops ? Category::compute : info(step->op).category) {
      case Category::fetch:
      case Category::guard:
      case Category::choice:
        if (must_raise()) return give_up(frame, Outcome::raised);
        PyErr_Clear();
        if (frame.call.missed) frame.call.missed->push_back(explain_miss(frame, *step));
        // Nobody may ask again, for that would call them again.
        if (frame.call.opaque > 0) frame.call.lost.push_back(explain_miss(frame, *step));
        if (step->otherwise != nullptr && !frame.is_spent) {
          frame.path = step->otherwise;
          step = frame.path->steps.data();
          continue;
        }
        return give_up(frame, Outcome::missed);
      case Category::compute:
        // Behind the commit there is no way back: only building the result is left.
        if (frame.committed) return Outcome::raised;
        if (must_raise()) return give_up(frame, Outcome::raised);
        if (frame.call.missed) frame.call.missed->push_back(explain_drop(frame, *step));
        if (frame.call.history) frame.call.history->dropped(frame, *step);
        PyErr_Clear();
        return give_up(frame, Outcome::dropped);
      case Category::effect:
        return Outcome::raised;
      case Category::end:
        if (frame.outcome == Outcome::done && !frame.call.rehearsal) return Outcome::done;
        return give_up(frame, frame.outcome);
    }
  }
}

Outcome run(Frame& frame) {
  const Step* step = frame.path->steps.data();
  try {
    return run_steps(frame, step);
  } catch (const std::exception& error) {
    return failed(frame, *step, error);
  }
}

}  // namespace

namespace steps {

bool commit_(Frame& f, const int32_t*) {
  f.raising.leave();
  if (!f.path->drops.empty() && drops_tell(f)) {
    f.refused = Refusal::drops_tell_;
    f.outcome = Outcome::dropped;
    return false;
  }
  f.committed = true;
  if (!f.call.rehearsal) {
    f.own_undo.forget();
    return true;
  }
  f.call.value = Py_NewRef(Py_None);
  f.outcome = Outcome::done;
  return false;
}

bool return_(Frame& f, const int32_t* p) {
  f.call.value = Py_NewRef(f[p[0]]);
  f.outcome = Outcome::done;
  return false;
}

bool fallback_(Frame& f, const int32_t*) {
  f.outcome = Outcome::fallback;
  return false;
}

}  // namespace steps

Outcome replay(const Path& root, Call& call) {
  call.path = &root;
  const RecursionLevel level;
  if (!level.entered()) return Outcome::raised;
  Registers registers(root.registers);
  Frame frame{call, registers.data(), &root};
  const Outcome outcome = run(frame);
  call.path = frame.path;
  call.refused = static_cast<uint8_t>(frame.refused);
  if (call.registers != nullptr) {
    call.registers->clear();  // of a path that was tried before
    registers.move_to(*call.registers);
  }
  return outcome;
}

struct StepRunner::State {
  State(const Path& of, PyObject* const* arguments)
      : root(of),
        call{.arguments = arguments, .minds_signals = false},
        registers(of.registers),
        frame{call, registers.data(), &of} {}

  const Path& root;
  RecursionLevel level;
  Call call;
  Registers registers;
  Frame frame;
};

StepRunner::StepRunner(const Path& root, PyObject* const* arguments)
    : StepRunner(std::make_unique<State>(root, arguments)) {}

StepRunner::StepRunner(std::unique_ptr<State> state) : state_(std::move(state)) {}

StepRunner::~StepRunner() = default;

std::unique_ptr<StepRunner> StepRunner::fork() const {
  auto state = std::make_unique<State>(state_->root, state_->call.arguments);
  state->registers.copy(state_->registers);
  return std::unique_ptr<StepRunner>(new StepRunner(std::move(state)));
}

bool StepRunner::run(const TreeStep& step) {
  Frame& frame = state_->frame;
  frame.path = step.path;
  const bool done =
      state_->level.entered() && run_step(frame, step.step->op, step.path->operands(*step.step));
  if (!done) PyErr_Clear();
  frame.raising.leave();
  return done;
}

PyObject* StepRunner::operator[](int32_t reg) const { return state_->frame[reg]; }

void StepRunner::move_to(std::vector<Ref>& kept) { state_->registers.move_to(kept); }

}  // namespace dvm::capture
