/* What CPython tells of its dicts and sets to itself alone. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Another one after each change of the dict; never 0. */
uint64_t dvm_dict_version(PyObject* dict);
/* As PyDict_Next, of a set: its next element, borrowed. */
int dvm_set_next(PyObject* set, Py_ssize_t* position, PyObject** element);

#ifdef __cplusplus
}
#endif
