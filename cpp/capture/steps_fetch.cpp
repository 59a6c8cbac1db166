// Steps that find objects again, and `shape`. Registers own what they hold: a call in between may
// rebind a name or let another thread run.
#include "capture/frame.h"
#include "capture/instance_dict.h"

namespace dvm::capture::steps {

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
  return false;
}

bool key_(Frame& f, const int32_t* p) {
  PyObject* base = f[p[1]];
  if (!PyDict_CheckExact(base)) return false;
  return f.define(p[0], Py_XNewRef(PyDict_GetItemWithError(base, f.path->object(p[2]))));
}

bool shape_(Frame& f, const int32_t* p) {
  PyObject* base = f[p[1]];
  if (!PyArray_Check(base)) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(base);
  if (p[2] < 0 || p[2] >= PyArray_NDIM(array)) return false;
  return f.define(p[0], PyLong_FromSsize_t(PyArray_DIM(array, p[2])));
}

}  // namespace dvm::capture::steps
