/* What the recorder reads of CPython's frames, whose structures are private and differ in each
 * version: cpython3xx/frame_3xx.c alone knows them. It is C because their headers are. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  PyCodeObject* code;
  PyObject* globals;
  const void* locals; /* the first of them: a FrameEntry */
  int unit;           /* of code, which it is at */
  int depth; /* entries on the value stack, which is behind the locals; -1: the frame has no count
              */
} DvmFrameParts;

typedef struct {
  PyObject *globals, *builtins;
} DvmScopes;

DvmFrameParts dvm_frame_parts(PyFrameObject* frame);
const void* dvm_frame_identity(PyFrameObject* frame); /* stable while the frame runs */
const void* dvm_frame_caller(PyFrameObject* frame);   /* identity of the frame below */
PyObject* dvm_frame_function(PyFrameObject* frame);   /* borrowed */
PyObject* dvm_frame_generator(PyFrameObject* frame);  /* borrowed; null: of no generator */
int dvm_generator_scopes(PyObject* generator, DvmScopes* scopes); /* 0: it has come to its end */
PyCodeObject* dvm_generator_code(PyObject* generator);            /* borrowed */
int dvm_generator_waits(PyObject* generator); /* it has given an item, and runs no further yet */
int dvm_generator_is_weakly_held(PyObject* generator);
int dvm_code_line(PyCodeObject* code, int unit);
int dvm_frame_is_cell(const PyCodeObject* code, int slot); /* a cell that the frame itself made */
int dvm_frame_holds_cell(const PyCodeObject* code, int slot); /* ... or that it closes over */

/* Whether somebody reads the lines that this thread runs: a debugger, what measures coverage. Asked
 * of a code object, where these may be told of one alone. */
int dvm_lines_are_read(PyCodeObject* code);

/* Since 3.12 the interpreter counts calls from C code, and allows some thousands whatever the limit
 * of recursion is. So many more of them, where the caller looks at the stack itself. */
void dvm_allow_c_calls(int more);

/* Pointers that a code object keeps, and has freed when it dies. */
Py_ssize_t dvm_code_new_place(freefunc free);                        /* -1: there is none left */
void* dvm_code_kept(PyCodeObject* code, Py_ssize_t place);           /* null: nothing yet */
int dvm_code_keep(PyCodeObject* code, Py_ssize_t place, void* kept); /* -1: with an error set */

#ifdef __cplusplus
}
#endif
