#define Py_BUILD_CORE 1
#include "capture/cpython/find_inline.h"
#include "capture/cpython/instance_dict.h"
#include "internal/pycore_object.h"

PyObject* dvm_instance_attribute(PyObject* object, PyObject* name) {
  PyTypeObject* type = Py_TYPE(object);
  if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
    PyDictValues* values = *_PyObject_ValuesPointer(object);
    if (values != NULL) {
      return dvm_find_inline(((PyHeapTypeObject*)type)->ht_cached_keys, values, name);
    }
  }
  PyObject** dict = _PyObject_GetDictPtr(object);
  return dict != NULL && *dict != NULL ? PyDict_GetItemWithError(*dict, name) : NULL;
}
