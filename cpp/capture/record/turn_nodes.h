// What a turn of a recorded loop uses: its variables, constants and what it made itself.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "capture/py.h"

namespace dvm::capture {

class TurnNodes {
 public:
  // Of the events [begin, end) of a recording as Python has it; given: nodes of the variables.
  TurnNodes(PyObject* nodes, PyObject* events, Py_ssize_t begin, Py_ssize_t end,
            std::span<const Py_ssize_t> given);

  // A node that an event uses although it is none of those; -1: there is none.
  Py_ssize_t outside() const { return outside_; }
  bool is_inside(Py_ssize_t node) const;
  // The node that it was before loops within gave the variable another.
  Py_ssize_t first(Py_ssize_t node) const;

 private:
  void pass(Py_ssize_t event);

  PyObject* nodes_;
  PyObject* events_;
  Py_ssize_t begin_, outside_ = -1;
  std::vector<bool> known_;
  std::unordered_map<Py_ssize_t, Py_ssize_t> first_;
};

}  // namespace dvm::capture
