// A function that calls itself, as steps of Paths: each activation of it is replayed as a call, by
// the way that one like it has gone before. A way runs the activations within by the same step.
//
// Activations have no effects of their own, so that a call in which one of them goes a way that
// none has gone yet is for another path or for the original, from the beginning.
#pragma once

#include <span>
#include <utility>

#include "capture/replay/subroutine.h"

namespace dvm::capture {

class Recursion : public Subroutine {
 public:
  explicit Recursion(int32_t parameters) : Subroutine(parameters) {}

  // What the function returns for these arguments, a new reference; or null: then `outcome` says
  // why, and a Python error may be set.
  PyObject* run(Frame& frame, std::span<PyObject* const> given, Outcome& outcome);

  // Whether an activation went no known way when the function ran last; once.
  bool take_missed() { return std::exchange(missed_, false); }

 private:
  bool missed_ = false;
};

// Of a Python object that holds one (subroutine.h).
bool is_recursion(PyObject* object);
Recursion& recursion_of(PyObject* object);

}  // namespace dvm::capture
