#define Py_BUILD_CORE 1
#include "capture/cpython/interruption.h"

#include "internal/pycore_ceval.h"

int dvm_is_interrupted(void) {
  const uintptr_t asked = _Py_atomic_load_uintptr_relaxed(&PyThreadState_Get()->eval_breaker);
  return (asked & (_PY_SIGNALS_PENDING_BIT | _PY_CALLS_TO_DO_BIT | _PY_ASYNC_EXCEPTION_BIT)) != 0;
}
