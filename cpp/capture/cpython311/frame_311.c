#define Py_BUILD_CORE 1
#include <stddef.h>

#include "capture/cpython/frame_parts.h"
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"

DvmFrameParts dvm_frame_parts(PyFrameObject* frame) {
  _PyInterpreterFrame* f = frame->f_frame;
  DvmFrameParts parts = {f->f_code, f->f_globals, f->localsplus, _PyInterpreterFrame_LASTI(f),
                         f->stacktop - f->f_code->co_nlocalsplus};
  return parts;
}

int dvm_code_line(PyCodeObject* code, int unit) {
  return PyCode_Addr2Line(code, unit * (int)sizeof(_Py_CODEUNIT));
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

int dvm_frame_holds_cell(const PyCodeObject* code, int slot) {
  return (_PyLocals_GetKind(code->co_localspluskinds, slot) & (CO_FAST_CELL | CO_FAST_FREE)) != 0;
}

PyCodeObject* dvm_generator_code(PyObject* generator) { return ((PyGenObject*)generator)->gi_code; }

Py_ssize_t dvm_code_new_place(freefunc free) { return _PyEval_RequestCodeExtraIndex(free); }

void* dvm_code_kept(PyCodeObject* code, Py_ssize_t place) {
  void* kept = NULL;
  return _PyCode_GetExtra((PyObject*)code, place, &kept) < 0 ? NULL : kept;
}

int dvm_code_keep(PyCodeObject* code, Py_ssize_t place, void* kept) {
  return _PyCode_SetExtra((PyObject*)code, place, kept);
}

int dvm_lines_are_read(PyCodeObject* code) {
  (void)code;
  return PyThreadState_Get()->c_tracefunc != NULL;
}

void dvm_allow_c_calls(int more) { (void)more; }
