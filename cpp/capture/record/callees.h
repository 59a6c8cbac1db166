// From the callee of a recorded call to the Python function that ends up running: through bound
// methods, types, functools.partial, objects with __call__, NumPy's dispatchers and compiled
// functions, each of which adds to or changes the arguments.
#pragma once

#include "capture/cpython/frame_recorder.h"
#include "capture/record/arguments.h"

namespace dvm::capture {

// Whether calling the callee runs the Python function, be it on the way to or within others. By the
// objects alone: nothing is recorded and no code of the user runs.
bool runs_function(PyObject* callee, PyObject* function);
// Whether it runs the function where it does not know the answer yet (functools.lru_cache).
bool caches_function(PyObject* callee, PyObject* function);
// Whether it is a defaultdict that calls the function for keys that it lacks.
bool makes_items(PyObject* dict, PyObject* function);

class Callee {
 public:
  Callee(Record& record, const FrameRecorder& caller, PyFunctionObject* function,
         const FrameView& f)
      : record_(record), caller_(caller), function_(reinterpret_cast<PyObject*>(function)), f_(f) {}

  // Whether calling `callee` for the caller's pending event runs the function.
  bool find(NodeId callee);
  Arguments arguments() { return std::move(arguments_); }
  // The instance which the function, an __init__, initialises.
  NodeId instance() const { return instance_; }

 private:
  bool read_arguments();
  bool read_spread_arguments();
  NodeId element(NodeId container, PyObject* key, PyObject* object);
  NodeId member(NodeId owner, const char* name, PyObject* object);
  bool leads_to_function(PyObject* callee) const;
  bool follow(NodeId node, PyObject* callee);
  bool follow_method(NodeId node, PyObject* method);
  bool follow_partial(NodeId node, PyObject* partial);
  bool follow_type(NodeId node, PyTypeObject* type);
  NodeId self_of(NodeId method, PyObject* self);

  Record& record_;
  const FrameRecorder& caller_;
  PyObject* function_;
  const FrameView& f_;
  Arguments arguments_;
  NodeId instance_ = kNoNode;
};

}  // namespace dvm::capture
