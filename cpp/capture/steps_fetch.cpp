// Steps that find objects again, and `shape`. Registers own what they hold: a call in between may
// rebind a name or let another thread run.
#include "capture/frame.h"
#include "capture/instance_dict.h"

namespace dvm::capture::steps {

namespace {

// The entry of a bounded lru_cache, as _functoolsmodule.c of CPython 3.11 has it. Read rather than
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

bool item_(Frame& f, const int32_t* p) {
  PyObject* base = f[p[1]];
  const Py_ssize_t index = p[2];
  if (index < 0) return false;
  if (PyTuple_CheckExact(base) && index < PyTuple_GET_SIZE(base)) {
    return f.define(p[0], Py_NewRef(PyTuple_GET_ITEM(base, index)));
  }
  if (PyList_CheckExact(base) && index < PyList_GET_SIZE(base)) {
    return f.define(p[0], Py_NewRef(PyList_GET_ITEM(base, index)));
  }
  if (is_deque(base) && index < PySequence_Size(base)) {
    return f.define(p[0], PySequence_GetItem(base, index));
  }
  return false;
}

bool key_(Frame& f, const int32_t* p) {
  PyObject* base = f[p[1]];
  if (!PyDict_CheckExact(base)) return false;
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
  PyObject* base = f[p[1]];
  if (!PyArray_Check(base)) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(base);
  if (p[2] < 0 || p[2] >= PyArray_NDIM(array)) return false;
  return f.define(p[0], PyLong_FromSsize_t(PyArray_DIM(array, p[2])));
}

}  // namespace dvm::capture::steps
