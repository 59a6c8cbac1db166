// The recorder: runs one call of a Python function with an event for each instruction and fills
// a Recording from the interpreter's own value stack (paper MagPy section 4).
//
// The function really runs: its result, its exception and its side effects are the program's own.
// What the recorder does not understand ends the recording, never the execution. A tracer that was
// active before (a debugger, coverage) keeps receiving its events.
#pragma once

#include <functional>
#include <memory>

#include "capture/py.h"
#include "capture/record/record.h"

namespace dvm::capture {

// Whether there is a recorder for this interpreter. Without one no function is compiled, and
// nothing that asks for a recording runs.
extern const bool kCanRecord;

struct Trace {
  std::unique_ptr<Record> record;
  Ref result;  // null: the function raised, its exception is pending
};

// Runs `call`, which calls `function` and returns what that returns, and records the function.
// marks_loops: with the events of the turns of loops.
Trace record_call(PyFunctionObject* function, const std::function<PyObject*()>& call,
                  bool marks_loops = false, Limits limits = {});
// The same, with loops, for a function whose parameters are bound already.
Trace trace_call(PyFunctionObject* function, PyObject* const* bound, Limits limits);

// Whether a recording is under way on this thread: a compiled function then runs its original, so
// that its body is recorded as part of its caller's.
bool is_recording();

}  // namespace dvm::capture
