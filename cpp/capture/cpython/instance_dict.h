/* An instance's own attributes, without making the dict that CPython leaves out until somebody
 * asks for it. */
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Borrowed; null: the instance has no such attribute of its own (or, with an error set, looking it
 * up failed). `name` is interned. */
PyObject* dvm_instance_attribute(PyObject* object, PyObject* name);

#ifdef __cplusplus
}
#endif
