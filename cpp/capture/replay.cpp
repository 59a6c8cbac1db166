#include "capture/replay.h"

#include "capture/explain_step.h"
#include "capture/frame.h"
#include "capture/scratch.h"

namespace dvm::capture {

namespace {

// Room for the registers of most paths.
constexpr size_t kRegisters = 96;

class Registers {
 public:
  explicit Registers(int32_t count) : objects_(static_cast<size_t>(count)), count_(count) {
    std::fill_n(objects_.data(), count, nullptr);
  }
  ~Registers() {
    for (int32_t i = 0; i < count_; ++i) Py_XDECREF(objects_.data()[i]);
  }
  PyObject** data() { return objects_.data(); }

 private:
  Scratch<PyObject*, kRegisters> objects_;
  int32_t count_;
};

bool run_step(Frame& frame, StepOp op, const int32_t* operands) {
  switch (op) {
#define DVM_STEP(name, category, letters, synopsis) \
  case StepOp::name##_:                             \
    return steps::name##_(frame, operands);
#include "capture/steps.def"
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

// Before the commit nothing may stay behind.
Outcome give_up(Frame& frame, Outcome outcome) {
  frame.errstate.leave();
  return frame.random.restore() ? outcome : Outcome::raised;
}

Outcome run(Frame& frame) {
  const Step* step = frame.path->steps.data();
  for (;;) {
    if (run_step(frame, step->op, frame.path->operands(*step))) [[likely]] {
      ++step;
      continue;
    }
    switch (info(step->op).category) {
      case Category::fetch:
      case Category::guard:
      case Category::choice:
        if (must_raise()) return give_up(frame, Outcome::raised);
        PyErr_Clear();
        if (frame.call.missed) frame.call.missed->push_back(explain_miss(frame, *step));
        if (step->otherwise != nullptr) {
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

}  // namespace

namespace steps {

bool commit_(Frame& f, const int32_t*) {
  f.errstate.leave();
  f.committed = true;
  if (!f.call.rehearsal) return true;
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
  if (Py_EnterRecursiveCall(" while replaying a path")) return Outcome::raised;
  Registers registers(root.registers);
  Frame frame{call, registers.data(), &root};
  const Outcome outcome = run(frame);
  call.path = frame.path;
  Py_LeaveRecursiveCall();
  return outcome;
}

}  // namespace dvm::capture
