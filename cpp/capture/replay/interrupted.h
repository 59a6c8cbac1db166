// Interrupted calls. A signal's handler may change what a replay has read and not yet built upon:
// so it runs when the replay of a loop has been given up, and the call begins again. What it raises
// (KeyboardInterrupt, or the TimeoutError of an alarm) must reach the `except`, `finally` and
// `with` of the program around that loop, which a replay has none of.
#pragma once

#include <functional>

#include "capture/py.h"
#include "core/error.h"

namespace dvm::capture {

// To be called once, when nothing waits: compiling tells the program's audit hooks, and one that is
// written in Python would meet the exception that another thread has set. False: a Python error is
// set.
bool prepare_interruptions();

// Does what waits: handlers of signals, pending calls, an exception that another thread has set.
// False: a Python error is set.
bool take_interruption();

// Raises the pending exception where the plain program would have met it: at the line `at` of a
// loop, the first time that `original`, whose code this is, gets there. As signals come when they
// like, that is a call in which this one came early. Where nothing in the code could see it on its
// way, it is raised at once. Always null, or what the program makes of the exception.
PyObject* raise_within(PyCodeObject* code, core::Loc at,
                       const std::function<PyObject*()>& original);

}  // namespace dvm::capture
