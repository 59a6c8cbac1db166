// What a change is about to drop: old values of attributes, variables and items, as they are
// stored. Nobody is asked for them, so that no code of the program runs.
#pragma once

#include <span>
#include <vector>

#include "capture/py.h"

namespace dvm::capture {

class OldValues {
 public:
  // Borrowed, in the order in which they are dropped; mute ones are left out.
  std::vector<PyObject*>& values() { return values_; }

  void add(PyObject* value);
  void add_attribute(PyObject* object, PyObject* name);
  void add_item(PyObject* container, PyObject* key);
  void add_variable(PyObject* scope, PyObject* name);
  void add_contents(PyObject* cell);
  void add_all(PyObject* container);
  // ... that a call of this function of C changes. Null stands for an argument that is not known;
  // what is behind the second one is not asked for.
  void add_call(PyObject* callee, std::span<PyObject* const> arguments);

 private:
  void add_method(PyObject* container, const char* name, std::span<PyObject* const> arguments);
  void add_place(PyObject* sequence, Py_ssize_t place);

  std::vector<PyObject*> values_;
};

}  // namespace dvm::capture
