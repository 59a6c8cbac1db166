/* An attribute among those that an instance holds without a dict. */
#pragma once

#include <Python.h>

#include "internal/pycore_dict.h"

/* Keys shared by the instances of a class are nearly always interned, but a program can put others
 * there through an instance's __dict__. There are at most 30 of them. */
static inline PyObject* dvm_find_inline(PyDictKeysObject* keys, PyDictValues* values,
                                        PyObject* name) {
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
