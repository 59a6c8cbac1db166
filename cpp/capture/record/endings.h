// Generators that have something to finish when they die: a `finally`, an `except`, a `with`. The
// recording keeps all that it has seen alive, so it asks of these whether the program still has
// them. Besides the program's variables, iterators of C code may hold one (`zip`, `enumerate`), and
// generators; whatever else might keep one without the recording's knowledge is not allowed to.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "capture/py.h"
#include "capture/record/lifetimes.h"
#include "core/graph/recording.h"

namespace dvm::capture {

// Whether it is a generator that, left waiting, would run more of its body then.
bool finishes_something(PyObject* object);
// Whether it is an iterator that holds those which it was made of, and nothing more.
bool is_holder(PyObject* object);

class Endings {
 public:
  // Whether generators are known that have something to finish.
  bool any() const { return finishing_ > 0; }
  bool contains(PyObject* object) const { return known_.contains(object); }
  // Where a generator was made: within another one, which may hold it; for a loop, which alone has
  // it, on the interpreter's stack.
  struct Made {
    bool within = false, for_loop = false;
  };
  // A generator, or a holder of one. False if nobody can tell when it dies.
  bool watch(PyObject* object, Made made);
  // The recording has one reference more.
  void count(PyObject* object);
  // Something may hold it of which the recording does not know. False: so it must not be.
  bool lose(PyObject* object);
  // It has come to its end, or those that it holds shall.
  void forget(PyObject* generator);
  // Generators with something to finish that only the recording has, those made last first; without
  // those that one of them holds.
  std::vector<PyObject*> dropped(const Lifetimes& lifetimes) const;
  bool is_for_loop(PyObject* generator) const { return known_.at(generator).for_loop; }
  // Whether it is the holder, or one that this holds.
  bool is_held_by(PyObject* holder, PyObject* generator) const;

  // Whether an event of this kind leaves its operands with whom they were. A call does that if
  // `callee` is done with its arguments when it returns, or if it is followed.
  static bool keeps_nothing(core::SeenEvent::Kind kind, PyObject* callee);
  static bool is_done_with_arguments(PyObject* callee);

 private:
  struct Known {
    Py_ssize_t kept = 0;  // references that the recording has
    size_t order = 0;     // in which it was met
    bool finishes = false;
    bool for_loop = false;
    bool lost = false;
  };

  bool holds_finishing(PyObject* object) const;

  std::unordered_map<PyObject*, Known> known_;
  int finishing_ = 0;
  size_t met_ = 0;
};

}  // namespace dvm::capture
