#define Py_BUILD_CORE 1
#include "capture/cpython/interruption.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_pystate.h"
#include "internal/pycore_runtime.h"

int dvm_is_interrupted(void) {
  PyThreadState* state = _PyThreadState_GET();
  if (state->async_exc != NULL) return 1;
  if (!_Py_ThreadCanHandleSignals(state->interp)) return 0;  // the main thread's alone
  return _Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending) != 0 ||
         _Py_atomic_load_relaxed(&state->interp->ceval.pending.calls_to_do) != 0;
}

int dvm_is_lock_wanted(void) {
  return _Py_atomic_load_relaxed(&_PyThreadState_GET()->interp->ceval.gil_drop_request) != 0;
}
