#define Py_BUILD_CORE 1
#include "capture/cpython/containers.h"

#include "internal/pycore_setobject.h"

int dvm_set_next(PyObject* set, Py_ssize_t* position, PyObject** element) {
  Py_hash_t hash;
  return _PySet_NextEntry(set, position, element, &hash);
}
