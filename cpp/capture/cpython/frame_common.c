/* What is read of frames and code objects alike in the versions that are known. */
#define Py_BUILD_CORE 1
#include <stddef.h>

#include "capture/cpython/frame_parts.h"
#include "capture/cpython/interpreter_frame.h"

int dvm_code_line(PyCodeObject* code, int unit) {
  return PyCode_Addr2Line(code, unit * (int)sizeof(_Py_CODEUNIT));
}

/* These had other names before 3.12. */
#if PY_VERSION_HEX < 0x030C0000
#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#define PyUnstable_Code_GetExtra _PyCode_GetExtra
#define PyUnstable_Code_SetExtra _PyCode_SetExtra
#endif

Py_ssize_t dvm_code_new_place(freefunc free) { return PyUnstable_Eval_RequestCodeExtraIndex(free); }

void* dvm_code_kept(PyCodeObject* code, Py_ssize_t place) {
  void* kept = NULL;
  return PyUnstable_Code_GetExtra((PyObject*)code, place, &kept) < 0 ? NULL : kept;
}

int dvm_code_keep(PyCodeObject* code, Py_ssize_t place, void* kept) {
  return PyUnstable_Code_SetExtra((PyObject*)code, place, kept);
}

const void* dvm_frame_identity(PyFrameObject* frame) { return frame->f_frame; }

PyObject* dvm_frame_generator(PyFrameObject* frame) {
  _PyInterpreterFrame* f = frame->f_frame;
  if (f->owner != FRAME_OWNED_BY_GENERATOR) return NULL;
  return (PyObject*)((char*)f - offsetof(PyGenObject, gi_iframe));
}

int dvm_generator_scopes(PyObject* generator, DvmScopes* scopes) {
  const PyGenObject* own = (PyGenObject*)generator;
  if (own->gi_frame_state >= FRAME_COMPLETED) return 0;
  const _PyInterpreterFrame* f = (const _PyInterpreterFrame*)&own->gi_iframe;
  *scopes = (DvmScopes){f->f_globals, f->f_builtins};
  return 1;
}

int dvm_generator_waits(PyObject* generator) {
  const int state = ((PyGenObject*)generator)->gi_frame_state;
#ifdef FRAME_STATE_SUSPENDED
  return FRAME_STATE_SUSPENDED(state);
#else
  return state == FRAME_SUSPENDED;
#endif
}

int dvm_generator_is_weakly_held(PyObject* generator) {
  return ((PyGenObject*)generator)->gi_weakreflist != NULL;
}

int dvm_frame_is_cell(const PyCodeObject* code, int slot) {
  return (_PyLocals_GetKind(code->co_localspluskinds, slot) & CO_FAST_CELL) != 0;
}

int dvm_frame_holds_cell(const PyCodeObject* code, int slot) {
  return (_PyLocals_GetKind(code->co_localspluskinds, slot) & (CO_FAST_CELL | CO_FAST_FREE)) != 0;
}
