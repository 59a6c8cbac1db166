// Which Python bodies an event is known to run, and with which arguments: the called function, the
// method behind an operator, a property's getter. A frame that appears while an event is pending is
// followed when it is one of these; any other is run by C code in a way the recording cannot tell,
// and is a callback (callbacks.h) or stays inside the event.
#pragma once

#include <optional>

#include "capture/cpython/frame_recorder.h"
#include "capture/record/arguments.h"

namespace dvm::capture {

struct Entry {
  std::vector<NodeId> parameters;
  // The result of the instruction when it is not what the body returns: the instance that an
  // __init__ initialises.
  NodeId instance = kNoNode;
};

// A call on its way through a trampoline (trampolines.h), and through what that calls in turn.
struct Bounce {
  int32_t event;  // that it is of
  Arguments arguments;
  Ref target;  // the function in which it ends

  // Whether the frame is on the way; a collector's callback may run beside it.
  bool passes(PyFrameObject* frame) const;
};
// If `frame`, which has just started for the pending event of `caller`, is a trampoline's.
std::optional<Bounce> begin_bounce(Record& record, const FrameRecorder& caller,
                                   PyFrameObject* frame);

// What `frame`, which has just started, runs for the pending event of `caller`.
// bounce: of the last event that had one.
std::optional<Entry> enter_body(Record& record, const FrameRecorder& caller, PyFrameObject* frame,
                                const std::optional<Bounce>& bounce);

}  // namespace dvm::capture
