#define Py_BUILD_CORE 1
#include "capture/cpython/frame_parts.h"
#include "capture/cpython/interpreter_frame.h"

/* Below a frame that C code has called, there is one of the interpreter's own. */
const void* dvm_frame_caller(PyFrameObject* frame) {
  const _PyInterpreterFrame* f = frame->f_frame->previous;
  while (f != NULL && f->owner >= FRAME_OWNED_BY_INTERPRETER) f = f->previous;
  return f;
}

PyObject* dvm_frame_function(PyFrameObject* frame) {
  return PyStackRef_AsPyObjectBorrow(frame->f_frame->f_funcobj);
}

/* It is the C stack itself that the interpreter looks at. */
void dvm_allow_c_calls(int more) { (void)more; }
