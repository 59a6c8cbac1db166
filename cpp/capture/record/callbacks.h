// Python functions that C code calls back: the key of a sort, the function of a `map`, the factory
// of a defaultdict. Their bodies are recorded within the event that runs them, with a node for each
// value that C code gave; what that value is, only the lowering can tell, which knows what such C
// code does.
//
// A function is taken for a callback when the program has handled it, or something that calls it,
// and when it compares or adds the object that it is given: what runs for other reasons (a garbage
// collector's callback) stays out of the recording.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "capture/cpython/frame_recorder.h"

namespace dvm::capture {

// Whether C code runs the frame, which has just started or goes on, for the caller's event.
bool runs_for_event(const Record& record, const FrameRecorder& caller, PyFrameObject* frame);
// Events for what C code gave to the parameters of the frame, and their nodes.
std::vector<NodeId> add_given(Record& record, const FrameRecorder& caller, PyFrameObject* frame);

class Callbacks {
 public:
  // The nodes for the parameters of `frame`, which has just started, if C code that runs for the
  // pending event of `caller` has called it back.
  std::optional<std::vector<NodeId>> enter(Record& record, const FrameRecorder& caller,
                                           PyFrameObject* frame);

 private:
  struct Search {
    size_t nodes = 0;  // looked at so far
    bool found = false;
  };

  bool is_handled(Record& record, PyObject* function);

  std::unordered_map<PyObject*, Search> searches_;
};

}  // namespace dvm::capture
