// What the interpreter does between two instructions of a program besides running others.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// Whether something is to be done by this thread: a signal's handler, a pending call
// (Py_AddPendingCall), an exception that another thread has set (PyThreadState_SetAsyncExc).
int dvm_is_interrupted(void);

// Whether another thread has waited for the interpreter's lock as long as it waits before it asks
// for it (sys.setswitchinterval), so that letting go of it hands it over.
int dvm_is_lock_wanted(void);

#ifdef __cplusplus
}
#endif
