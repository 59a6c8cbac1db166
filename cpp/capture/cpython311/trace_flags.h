/* The flags of a frame object by which a tracer says which events it wants. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* f_trace_opcodes: set to `on`, the former value returned. */
char dvm_frame_swap_opcodes(PyFrameObject* frame, char on);
void dvm_frame_trace_lines(PyFrameObject* frame, char on); /* f_trace_lines */

#ifdef __cplusplus
}
#endif
