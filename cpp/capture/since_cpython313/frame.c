#define Py_BUILD_CORE 1
#include "capture/cpython/frame_parts.h"
#include "capture/cpython/interpreter_frame.h"
#include "internal/pycore_instruments.h"
#include "internal/pycore_interp.h"

/* While a frame runs, its count of stack entries is in a register of the interpreter. */
DvmFrameParts dvm_frame_parts(PyFrameObject* frame) {
  _PyInterpreterFrame* f = frame->f_frame;
  PyCodeObject* code = _PyFrame_GetCode(f);
  DvmFrameParts parts = {code, f->f_globals, f->localsplus, _PyInterpreterFrame_LASTI(f), -1};
  return parts;
}

PyCodeObject* dvm_generator_code(PyObject* generator) {
  return _PyFrame_GetCode((_PyInterpreterFrame*)&((PyGenObject*)generator)->gi_iframe);
}

Py_ssize_t dvm_code_new_place(freefunc free) { return PyUnstable_Eval_RequestCodeExtraIndex(free); }

void* dvm_code_kept(PyCodeObject* code, Py_ssize_t place) {
  void* kept = NULL;
  return PyUnstable_Code_GetExtra((PyObject*)code, place, &kept) < 0 ? NULL : kept;
}

int dvm_code_keep(PyCodeObject* code, Py_ssize_t place, void* kept) {
  return PyUnstable_Code_SetExtra((PyObject*)code, place, kept);
}

/* The two tools above these stand for sys.settrace and sys.setprofile, of whatever thread. */
int dvm_lines_are_read(PyCodeObject* code) {
  const int tools = (1 << PY_MONITORING_SYS_PROFILE_ID) - 1;
  const PyThreadState* thread = PyThreadState_Get();
  if (thread->c_tracefunc != NULL) return 1;
  if (thread->interp->monitors.tools[PY_MONITORING_EVENT_LINE] & tools) return 1;
  const _PyCoMonitoringData* own = code->_co_monitoring;
  return own != NULL && (own->local_monitors.tools[PY_MONITORING_EVENT_LINE] & tools) != 0;
}
