/* Read-only view of a frame of CPython 3.11 inside a trace callback: decoded instruction, local
 * slots, value stack. frame_view_311.c alone knows the interpreter's internal structures; it is C
 * because their headers are. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  PyCodeObject* code;
  PyObject* globals; /* the dict */
  PyObject** locals; /* locals, cells and free variables: code->co_nlocalsplus slots */
  PyObject** stack;  /* bottom of the value stack */
  int depth;         /* entries on it */
  int opcode, oparg; /* the instruction about to run, EXTENDED_ARG folded in */
  int index;         /* its code unit */
  int start;         /* the code unit jumps to it lead to: its first EXTENDED_ARG, if any */
} DvmFrameView;

typedef struct {
  PyObject *globals, *builtins;
} DvmScopes;

DvmFrameView dvm_frame_view(PyFrameObject* frame);
const void* dvm_frame_identity(PyFrameObject* frame); /* stable while the frame runs */
const void* dvm_frame_caller(PyFrameObject* frame);   /* identity of the frame below */
PyObject* dvm_frame_function(PyFrameObject* frame);   /* borrowed */
PyObject* dvm_frame_generator(PyFrameObject* frame);  /* borrowed; null: of no generator */
int dvm_generator_scopes(PyObject* generator, DvmScopes* scopes); /* 0: it has come to its end */
int dvm_code_next_opcode(PyCodeObject* code, int index); /* behind the one at this unit; 0: none */
int dvm_code_line(PyCodeObject* code, int index);        /* of the instruction at this unit */
int dvm_frame_is_cell(const PyCodeObject* code, int slot); /* a cell that the frame itself made */
/* f_trace_opcodes: set to `on`, the former value returned. */
int dvm_frame_swap_opcodes(PyFrameObject* frame, int on);
void dvm_frame_trace_lines(PyFrameObject* frame, int on); /* f_trace_lines: line events, or none */

#ifdef __cplusplus
}
#endif
