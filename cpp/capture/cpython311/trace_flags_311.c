#define Py_BUILD_CORE 1
#include "capture/cpython311/trace_flags.h"
#include "internal/pycore_frame.h"

char dvm_frame_swap_opcodes(PyFrameObject* frame, char on) {
  const char was = frame->f_trace_opcodes;
  frame->f_trace_opcodes = on;
  return was;
}

void dvm_frame_trace_lines(PyFrameObject* frame, char on) { frame->f_trace_lines = on; }
