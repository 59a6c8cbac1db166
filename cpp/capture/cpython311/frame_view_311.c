#define Py_BUILD_CORE 1
#define NEED_OPCODE_TABLES 1
#include <stddef.h>

#include "capture/cpython311/frame_view.h"
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_opcode.h"
#include "opcode.h"

DvmFrameView dvm_frame_view(PyFrameObject* frame) {
  _PyInterpreterFrame* f = frame->f_frame;
  PyCodeObject* code = f->f_code;
  const _Py_CODEUNIT* units = _PyCode_CODE(code);
  const int start = _PyInterpreterFrame_LASTI(f);
  int index = start;
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
                       f->f_globals,
                       f->localsplus,
                       f->localsplus + code->co_nlocalsplus,
                       f->stacktop - code->co_nlocalsplus,
                       opcode,
                       oparg,
                       index,
                       start};
  return view;
}

int dvm_code_next_opcode(PyCodeObject* code, int index) {
  const _Py_CODEUNIT* units = _PyCode_CODE(code);
  const int opcode = _PyOpcode_Deopt[_Py_OPCODE(units[index])];
  const int next = index + 1 + _PyOpcode_Caches[opcode];
  if (next >= Py_SIZE(code)) return 0;
  return _PyOpcode_Deopt[_Py_OPCODE(units[next])];
}

int dvm_code_line(PyCodeObject* code, int index) {
  return PyCode_Addr2Line(code, index * (int)sizeof(_Py_CODEUNIT));
}

const void* dvm_frame_identity(PyFrameObject* frame) { return frame->f_frame; }

const void* dvm_frame_caller(PyFrameObject* frame) { return frame->f_frame->previous; }

PyObject* dvm_frame_function(PyFrameObject* frame) { return (PyObject*)frame->f_frame->f_func; }

PyObject* dvm_frame_generator(PyFrameObject* frame) {
  _PyInterpreterFrame* f = frame->f_frame;
  if (f->owner != FRAME_OWNED_BY_GENERATOR) return NULL;
  return (PyObject*)((char*)f - offsetof(PyGenObject, gi_iframe));
}

int dvm_generator_scopes(PyObject* generator, DvmScopes* scopes) {
  const PyGenObject* own = (PyGenObject*)generator;
  if (own->gi_frame_state >= FRAME_COMPLETED) return 0;
  const _PyInterpreterFrame* f = (const _PyInterpreterFrame*)own->gi_iframe;
  *scopes = (DvmScopes){f->f_globals, f->f_builtins};
  return 1;
}

int dvm_frame_is_cell(const PyCodeObject* code, int slot) {
  return (_PyLocals_GetKind(code->co_localspluskinds, slot) & CO_FAST_CELL) != 0;
}

int dvm_frame_swap_opcodes(PyFrameObject* frame, int on) {
  const int was = frame->f_trace_opcodes;
  frame->f_trace_opcodes = (char)on;
  return was;
}

void dvm_frame_trace_lines(PyFrameObject* frame, int on) { frame->f_trace_lines = (char)on; }
