#define Py_BUILD_CORE 1
#define NEED_OPCODE_TABLES 1
#include "capture/frame_view.h"
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_opcode.h"
#include "opcode.h"

DvmFrameView dvm_frame_view(PyFrameObject* frame) {
  _PyInterpreterFrame* f = frame->f_frame;
  PyCodeObject* code = f->f_code;
  const _Py_CODEUNIT* units = _PyCode_CODE(code);
  int index = _PyInterpreterFrame_LASTI(f);
  /* Specialised instructions are written over the code in memory; the table maps them back. An
   * instruction behind EXTENDED_ARG gets no event of its own, so the prefix stands for it. */
  int oparg = _Py_OPARG(units[index]);
  int opcode = _PyOpcode_Deopt[_Py_OPCODE(units[index])];
  while (opcode == EXTENDED_ARG) {
    ++index;
    oparg = oparg << 8 | _Py_OPARG(units[index]);
    opcode = _PyOpcode_Deopt[_Py_OPCODE(units[index])];
  }
  DvmFrameView view = {code,
                       f->localsplus,
                       f->localsplus + code->co_nlocalsplus,
                       f->stacktop - code->co_nlocalsplus,
                       opcode,
                       oparg,
                       index};
  return view;
}

const void* dvm_frame_identity(PyFrameObject* frame) { return frame->f_frame; }

PyObject* dvm_frame_function(PyFrameObject* frame) { return (PyObject*)frame->f_frame->f_func; }

void dvm_frame_trace(PyFrameObject* frame, int opcodes, int lines) {
  frame->f_trace_opcodes = (char)opcodes;
  frame->f_trace_lines = (char)lines;
}
