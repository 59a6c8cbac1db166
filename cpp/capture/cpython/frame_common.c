/* What is read of frames and code objects alike in the versions that are known. */
#define Py_BUILD_CORE 1
#include <stddef.h>

#include "capture/cpython/frame_parts.h"
#include "capture/cpython/interpreter_frame.h"

int dvm_code_line(PyCodeObject* code, int unit) {
  return PyCode_Addr2Line(code, unit * (int)sizeof(_Py_CODEUNIT));
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
