// Steps that find objects again, and `shape`. Registers own what they hold: a call in between may
// rebind a name or let another thread run.
#include "capture/cpython/instance_dict.h"
#include "capture/library/library.h"
#include "capture/replay/frame.h"

namespace dvm::capture::steps {

namespace {

// The entry of a bounded lru_cache, as CPython's _functoolsmodule.c has it. Read rather than
// asked for: a call would count as a hit, and this may not be the path that is taken.
struct LruLink {
  PyObject_HEAD LruLink *previous, *next;
  Py_hash_t hash;
  PyObject *key, *result;
};

}  // namespace

bool argument_(Frame& f, const int32_t* p) {
  return f.define(p[0], Py_NewRef(f.call.arguments[p[1]]));
}

bool constant_(Frame& f, const int32_t* p) {
  return f.define(p[0], Py_NewRef(f.path->object(p[1])));
}

bool variable_(Frame& f, const int32_t* p) {
  return f.define(p[0],
                  Py_XNewRef(PyDict_GetItemWithError(f.path->object(p[1]), f.path->object(p[2]))));
}

bool cell_(Frame& f, const int32_t* p) {
  return f.define(p[0], Py_XNewRef(PyCell_GET(f.path->object(p[1]))));
}

bool cell_of_(Frame& f, const int32_t* p) {
  PyObject* cells = PyFunction_Check(f[p[1]]) ? PyFunction_GET_CLOSURE(f[p[1]]) : nullptr;
  if (cells == nullptr || p[2] < 0 || p[2] >= PyTuple_GET_SIZE(cells)) return false;
  return f.define(p[0], Py_NewRef(PyTuple_GET_ITEM(cells, p[2])));
}

bool contents_(Frame& f, const int32_t* p) {
  return PyCell_Check(f[p[1]]) && f.define(p[0], Py_XNewRef(PyCell_GET(f[p[1]])));
}

bool preset_(Frame& f, const int32_t* p) {
  if (!PyFunction_Check(f[p[1]])) return false;
  const auto* function = reinterpret_cast<PyFunctionObject*>(f[p[1]]);
  const auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  const int slot = p[2];
  if (slot < 0 || slot >= code->co_argcount + code->co_kwonlyargcount) return false;
  if (slot >= code->co_argcount) {
    PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, slot);
    PyObject* presets = function->func_kwdefaults;
    return presets && f.define(p[0], Py_XNewRef(PyDict_GetItemWithError(presets, name)));
  }
  PyObject* presets = function->func_defaults;
  const Py_ssize_t place = presets ? slot - (code->co_argcount - PyTuple_GET_SIZE(presets)) : -1;
  return place >= 0 && f.define(p[0], Py_NewRef(PyTuple_GET_ITEM(presets, place)));
}

bool attribute_(Frame& f, const int32_t* p) {
  PyObject* base = f[p[1]];
  PyObject* name = f.path->object(p[2]);
  PyObject* found = PyModule_CheckExact(base)
                        ? PyDict_GetItemWithError(PyModule_GetDict(base), name)
                        : dvm_instance_attribute(base, name);
  return f.define(p[0], Py_XNewRef(found));
}

bool getattr_(Frame& f, const int32_t* p) {
  return f.define(p[0], PyObject_GetAttr(f[p[1]], f.path->object(p[2])));
}

bool class_attribute_(Frame& f, const int32_t* p) {
  if (!PyType_Check(f[p[1]])) return false;
  auto* const type = reinterpret_cast<PyTypeObject*>(f[p[1]]);
  return f.define(p[0], Py_XNewRef(_PyType_Lookup(type, f.path->object(p[2]))));
}

bool class_order_(Frame& f, const int32_t* p) {
  return PyType_Check(f[p[1]]) &&
         f.define(p[0], Py_XNewRef(reinterpret_cast<PyTypeObject*>(f[p[1]])->tp_mro));
}

bool item_(Frame& f, const int32_t* p) {
  PyObject* base = f[p[1]];
  const auto place_among = [place = Py_ssize_t{p[2]}](Py_ssize_t length) {
    const Py_ssize_t index = place < 0 ? place + length : place;
    return index < length ? index : -1;
  };
  if (PyTuple_Check(base)) {
    const Py_ssize_t index = place_among(PyTuple_GET_SIZE(base));
    return index >= 0 && f.define(p[0], Py_NewRef(PyTuple_GET_ITEM(base, index)));
  }
  if (PyList_Check(base)) {
    const Py_ssize_t index = place_among(PyList_GET_SIZE(base));
    return index >= 0 && f.define(p[0], Py_NewRef(PyList_GET_ITEM(base, index)));
  }
  if (is_deque(base)) {
    const Py_ssize_t index = place_among(PySequence_Size(base));
    return index >= 0 && f.define(p[0], PySequence_GetItem(base, index));
  }
  return false;
}

bool key_(Frame& f, const int32_t* p) {
  PyObject* base = f[p[1]];
  if (!PyDict_Check(base)) return false;
  return f.define(p[0], Py_XNewRef(PyDict_GetItemWithError(base, f.path->object(p[2]))));
}

bool cached_(Frame& f, const int32_t* p) {
  PyObject* kept = PyDict_GetItemWithError(f.path->object(p[2]), f[p[1]]);
  if (kept == nullptr) return false;
  if (std::strcmp(Py_TYPE(kept)->tp_name, "functools._lru_list_elem") == 0) {
    kept = reinterpret_cast<LruLink*>(kept)->result;
  }
  return f.define(p[0], Py_NewRef(kept));
}

bool shape_(Frame& f, const int32_t* p) {
  const Library* const library = library_of(f[p[1]]);
  if (library == nullptr) return false;
  const ArrayView array = library->view(f[p[1]]);
  return p[2] >= 0 && p[2] < array.rank && f.define(p[0], PyLong_FromSsize_t(array.shape[p[2]]));
}

}  // namespace dvm::capture::steps
