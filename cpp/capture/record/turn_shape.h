// Whether two turns of a recorded loop did the same, told by numbers.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "capture/py.h"

namespace dvm::capture {

// By their first events, the names of the variables that their turns may read: a tuple.
using RolledLoops = std::unordered_map<Py_ssize_t, PyObject*>;

// own: equal where they are the same events on objects of the same kinds, each of which is met
//     again in the same places; of a rolled loop within, what it was given, whether it had turns,
//     and how it was left; of an activation within, what it was given and what it gave.
// within: what the turns of such loops did.
struct TurnShape {
  int64_t own = 0;
  std::unordered_set<int64_t> within;
};

// Of the events [begin, end) of a recording as Python has it. called: a dict, of activations of
// recursive functions that are steps, by their first events the last ones.
TurnShape shape_of_turn(PyObject* nodes, PyObject* events, Py_ssize_t begin, Py_ssize_t end,
                        const RolledLoops& rolled, PyObject* called);

}  // namespace dvm::capture
