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

/* The two tools above these stand for sys.settrace and sys.setprofile, of whatever thread. */
int dvm_lines_are_read(PyCodeObject* code) {
  const int tools = (1 << PY_MONITORING_SYS_PROFILE_ID) - 1;
  const PyThreadState* thread = PyThreadState_Get();
  if (thread->c_tracefunc != NULL) return 1;
  if (thread->interp->monitors.tools[PY_MONITORING_EVENT_LINE] & tools) return 1;
  const _PyCoMonitoringData* own = code->_co_monitoring;
  return own != NULL && (own->local_monitors.tools[PY_MONITORING_EVENT_LINE] & tools) != 0;
}
