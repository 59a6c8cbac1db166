#define Py_BUILD_CORE 1
#include "capture/cpython/interruption.h"

#include "internal/pycore_ceval.h"

static int is_asked(uintptr_t what) {
  return (_Py_atomic_load_uintptr_relaxed(&PyThreadState_Get()->eval_breaker) & what) != 0;
}

int dvm_is_interrupted(void) {
  return is_asked(_PY_SIGNALS_PENDING_BIT | _PY_CALLS_TO_DO_BIT | _PY_ASYNC_EXCEPTION_BIT);
}

int dvm_is_lock_wanted(void) { return is_asked(_PY_GIL_DROP_REQUEST_BIT); }
