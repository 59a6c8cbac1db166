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
  PyObject** locals; /* locals, cells and free variables: code->co_nlocalsplus slots */
  PyObject** stack;  /* bottom of the value stack */
  int depth;         /* entries on it */
  int opcode, oparg; /* the instruction about to run, EXTENDED_ARG folded in */
  int index;         /* its code unit */
} DvmFrameView;

DvmFrameView dvm_frame_view(PyFrameObject* frame);
const void* dvm_frame_identity(PyFrameObject* frame); /* stable while the frame runs */
PyObject* dvm_frame_function(PyFrameObject* frame);   /* borrowed */
void dvm_frame_trace(PyFrameObject* frame, int opcodes, int lines);

#ifdef __cplusplus
}
#endif
