#include "capture/replay/recursion.h"

#include <algorithm>
#include <optional>

#include "capture/cpython/interruption.h"
#include "capture/replay/frame.h"
#include "capture/replay/other_threads.h"
#include "capture/replay/scratch.h"
#include "capture/stack_room.h"

namespace dvm::capture {

namespace {

// Whether a computation gives the same for both, for certain.
bool is_same(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (!Py_IS_TYPE(a, Py_TYPE(b)) || !PyLong_CheckExact(a)) return false;
  return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

PyObject* given_before(Call& call, const Recursion* function,
                       std::span<PyObject* const> arguments) {
  for (Given& each : call.given) {
    const auto same = [](const Ref& a, PyObject* b) { return is_same(a.get(), b); };
    if (!each.taken && each.function == function &&
        std::ranges::equal(each.arguments, arguments, same)) {
      each.taken = true;
      return each.value.get();
    }
  }
  return nullptr;
}

}  // namespace

PyObject* Recursion::run(Frame& frame, std::span<PyObject* const> given, Outcome& outcome) {
  const Flight flight = begin();
  if (PyObject* const value = given_before(frame.call, this, given)) {
    outcome = Outcome::done;
    return Py_NewRef(value);
  }
  outcome = Outcome::dropped;
  if (!has_stack_room()) return nullptr;
  if (dvm_is_interrupted()) {
    outcome = Outcome::interrupted;
    return nullptr;
  }
  Call& around = frame.call;
  if (around.others == nullptr) missed_ = false;
  const bool holds_lock = around.holds_lock || !may_unlock(frame);
  std::optional<OtherThreads> own;
  OtherThreads* const others = around.others != nullptr ? around.others : &own.emplace(holds_lock);
  Draws& draws = frame.draws();
  if (around.turns % OtherThreads::kUnbroken == 0 && !others->let_run(!draws.is_empty())) {
    return nullptr;
  }
  Call call{.arguments = given.data(),
            .times = around.times,
            .missed = around.missed,
            .turns = 1 + around.turns,
            .spares_opaque = around.spares_opaque,
            .holds_lock = holds_lock,
            .undo = &frame.undo(),
            .draws = &draws,
            .others = others};
  outcome = replay(call);
  around.opaque += call.opaque;
  around.turns = call.turns;
  if (outcome == Outcome::done) {
    if (around.tries_several) {
      Given made{this, {}, Ref::borrow(call.value), true};
      for (PyObject* const each : given) made.arguments.push_back(Ref::borrow(each));
      around.given.push_back(std::move(made));
    }
    return call.value;
  }
  if (outcome == Outcome::raised && PyErr_ExceptionMatches(PyExc_RecursionError)) {
    PyErr_Clear();  // the original goes as deep, and says so at its own line
    outcome = Outcome::dropped;
  }
  missed_ = missed_ || outcome == Outcome::missed;
  frame.refused = static_cast<Refusal>(call.refused);
  return nullptr;
}

bool is_recursion(PyObject* object) {
  return is_subroutine(object) && dynamic_cast<const Recursion*>(&subroutine_of(object)) != nullptr;
}

Recursion& recursion_of(PyObject* object) { return static_cast<Recursion&>(subroutine_of(object)); }

namespace steps {

bool invoke_(Frame& f, const int32_t* p) {
  Recursion& function = recursion_of(f.path->object(p[1]));
  constexpr size_t kMost = 16;
  const auto count = static_cast<size_t>(p[2]);
  Scratch<PyObject*, kMost> given(count);
  for (size_t i = 0; i < count; ++i) given.data()[i] = f[p[3 + i]];
  f.raising.leave();  // activations ask for the program's own error state
  Outcome outcome = Outcome::missed;
  PyObject* const value = function.run(f, {given.data(), count}, outcome);
  return define_result(f, p[0], value, outcome);
}

}  // namespace steps

}  // namespace dvm::capture
