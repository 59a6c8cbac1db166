#define Py_BUILD_CORE 1
#include "capture/cpython/instance_dict.h"

#include "capture/cpython/find_inline.h"
#include "internal/pycore_object.h"

/* _PyObject_GetDictPtr would make the dict. */
static PyObject* dict_of(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
    return (PyObject*)_PyObject_GetManagedDict(object);
  }
  PyObject** dict = _PyObject_GetDictPtr(object);
  return dict == NULL ? NULL : *dict;
}

PyObject* dvm_instance_attribute(PyObject* object, PyObject* name) {
  PyTypeObject* type = Py_TYPE(object);
  if (type->tp_flags & Py_TPFLAGS_INLINE_VALUES) {
    PyDictValues* values = _PyObject_InlineValues(object);
    if (values->valid) {
      return dvm_find_inline(((PyHeapTypeObject*)type)->ht_cached_keys, values, name);
    }
  }
  PyObject* dict = dict_of(object);
  return dict == NULL ? NULL : PyDict_GetItemWithError(dict, name);
}
