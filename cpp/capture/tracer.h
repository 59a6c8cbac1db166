// The C tracer: runs one call of a Python function under PyEval_SetTrace with per-opcode events and
// fills a RefGraph from the interpreter's own value stack (paper MagPy section 4; CPython 3.11).
//
// The function really runs: its result, its exception and its side effects are the program's own.
// What the tracer does not understand ends the recording, never the execution.
#pragma once

#include <memory>
#include <vector>

#include "capture/py.h"
#include "capture/record.h"
#include "core/refgraph.h"

namespace dvm::capture {

struct Trace {
  std::unique_ptr<Record> record;  // the new recording; then `graph` is empty
  core::RefGraph graph;
  std::vector<Ref> kept;  // every object the graph's nodes point to
  Ref result;             // null: the function raised, its exception is pending
};

// Whether trace_call records by recorder.h, for a lowering that reads those recordings.
void use_recorder(bool on);

// call_bound() under the tracer. The GIL is held.
Trace trace_call(PyFunctionObject* function, PyObject* const* bound);

}  // namespace dvm::capture
