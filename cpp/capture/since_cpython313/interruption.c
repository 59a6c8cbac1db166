#define Py_BUILD_CORE 1
#include "capture/cpython/interruption.h"

#include "internal/pycore_ceval.h"

int dvm_is_interrupted(void) {
  const PyThreadState* state = PyThreadState_Get();
  /* Its bit stays until the next instruction, though it was taken back. */
  if (state->async_exc != NULL) return 1;
  const uintptr_t asked = _Py_atomic_load_uintptr_relaxed(&state->eval_breaker);
  return (asked & (_PY_SIGNALS_PENDING_BIT | _PY_CALLS_TO_DO_BIT)) != 0;
}
