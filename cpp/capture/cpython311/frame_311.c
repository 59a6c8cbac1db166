#define Py_BUILD_CORE 1
#include "capture/cpython/frame_parts.h"
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"

DvmFrameParts dvm_frame_parts(PyFrameObject* frame) {
  _PyInterpreterFrame* f = frame->f_frame;
  DvmFrameParts parts = {f->f_code, f->f_globals, f->localsplus, _PyInterpreterFrame_LASTI(f),
                         f->stacktop - f->f_code->co_nlocalsplus};
  return parts;
}

const void* dvm_frame_caller(PyFrameObject* frame) { return frame->f_frame->previous; }

PyObject* dvm_frame_function(PyFrameObject* frame) { return (PyObject*)frame->f_frame->f_func; }

PyCodeObject* dvm_generator_code(PyObject* generator) { return ((PyGenObject*)generator)->gi_code; }

int dvm_lines_are_read(PyCodeObject* code) {
  (void)code;
  return PyThreadState_Get()->c_tracefunc != NULL;
}

void dvm_allow_c_calls(int more) { (void)more; }
