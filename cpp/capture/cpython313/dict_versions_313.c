#define Py_BUILD_CORE 1
#include "capture/cpython/containers.h"

/* The low bits say which watchers the dict has. */
uint64_t dvm_dict_version(PyObject* dict) { return ((PyDictObject*)dict)->ma_version_tag; }
