// The C tracer: runs one call of a Python function under PyEval_SetTrace with per-opcode events and
// fills a RefGraph from the interpreter's own value stack (paper MagPy section 4; CPython 3.11).
//
// The function really runs: its result, its exception and its side effects are the program's own.
// What the tracer does not understand ends the recording, never the execution.
#pragma once

#include <vector>

#include "capture/py.h"
#include "core/refgraph.h"

namespace dvm::capture {

struct Trace {
  core::RefGraph graph;
  std::vector<Ref> kept;  // every object the graph's nodes point to
  Ref result;             // null: the function raised, its exception is pending
};

// call_bound() under the tracer. The GIL is held.
Trace trace_call(PyFunctionObject* function, PyObject* const* bound);

}  // namespace dvm::capture
