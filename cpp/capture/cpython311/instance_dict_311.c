#define Py_BUILD_CORE 1
#include "capture/cpython311/instance_dict.h"
#include "internal/pycore_dict.h"
#include "internal/pycore_object.h"

/* Keys shared by the instances of a class are nearly always interned, but a program can put others
 * there through an instance's __dict__. There are at most 30 of them. */
static PyObject* find_inline(PyDictKeysObject* keys, PyDictValues* values, PyObject* name) {
  PyDictUnicodeEntry* entries = DK_UNICODE_ENTRIES(keys);
  for (Py_ssize_t i = 0; i < keys->dk_nentries; ++i) {
    if (entries[i].me_key == name) return values->values[i];
  }
  for (Py_ssize_t i = 0; i < keys->dk_nentries; ++i) {
    PyObject* key = entries[i].me_key;
    if (key != NULL && !PyUnicode_CHECK_INTERNED(key) && PyUnicode_Compare(key, name) == 0) {
      return values->values[i];
    }
  }
  return NULL;
}

PyObject* dvm_instance_attribute(PyObject* object, PyObject* name) {
  PyTypeObject* type = Py_TYPE(object);
  if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
    PyDictValues* values = *_PyObject_ValuesPointer(object);
    if (values != NULL) {
      return find_inline(((PyHeapTypeObject*)type)->ht_cached_keys, values, name);
    }
  }
  PyObject** dict = _PyObject_GetDictPtr(object);
  return dict != NULL && *dict != NULL ? PyDict_GetItemWithError(*dict, name) : NULL;
}
