// In C, where leaving a thread meets a cleanup handler: C++ frames are unwound by the extension's
// own copy of the unwinder, which cannot go on with what the system's has begun.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <unistd.h>

static void stay(void* nothing) {
  (void)nothing;
  for (;;) pause();
}

void dvm_relock(PyThreadState* state) {
  pthread_cleanup_push(stay, NULL);
  PyEval_RestoreThread(state);
  pthread_cleanup_pop(0);
}
