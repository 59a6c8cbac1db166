#include "capture/cpython/containers.h"

uint64_t dvm_dict_version(PyObject* dict) { return ((PyDictObject*)dict)->ma_version_tag; }

int dvm_set_next(PyObject* set, Py_ssize_t* position, PyObject** element) {
  Py_hash_t hash;
  return _PySet_NextEntry(set, position, element, &hash);
}
