// What the program does to objects that others see, in program order behind the commit. A failure
// is the program's own exception.
#include "capture/frame.h"
#include "capture/numpy_api.h"

namespace dvm::capture::steps {

bool copyto_(Frame& f, const int32_t* p) {
  if (f[p[0]] == f[p[1]]) return true;  // the segment wrote it there
  if (!PyArray_Check(f[p[0]])) {
    PyErr_SetString(PyExc_TypeError, "copyto needs an array");
    return false;
  }
  // Handles overlap and read-only arrays as np.copyto does.
  Ref source = Ref::steal(PyArray_FROM_O(f[p[1]]));
  return source && PyArray_CopyInto(reinterpret_cast<PyArrayObject*>(f[p[0]]),
                                    reinterpret_cast<PyArrayObject*>(source.get())) == 0;
}

bool set_attribute_(Frame& f, const int32_t* p) {
  return PyObject_SetAttr(f[p[0]], f.path->object(p[1]), f[p[2]]) == 0;
}

bool delete_attribute_(Frame& f, const int32_t* p) {
  return PyObject_DelAttr(f[p[0]], f.path->object(p[1])) == 0;
}

bool set_item_(Frame& f, const int32_t* p) {
  return PyObject_SetItem(f[p[0]], f[p[1]], f[p[2]]) == 0;
}

bool delete_item_(Frame& f, const int32_t* p) { return PyObject_DelItem(f[p[0]], f[p[1]]) == 0; }

bool set_variable_(Frame& f, const int32_t* p) {
  return PyDict_SetItem(f.path->object(p[0]), f.path->object(p[1]), f[p[2]]) == 0;
}

bool set_cell_(Frame& f, const int32_t* p) {
  return PyCell_Set(f.path->object(p[0]), f[p[1]]) == 0;
}

bool list_replace_(Frame& f, const int32_t* p) {
  const Py_ssize_t size = PyList_Size(f[p[0]]);
  Ref fresh = Ref::steal(PyList_New(p[1]));
  if (size < 0 || !fresh) return false;
  for (int32_t i = 0; i < p[1]; ++i) PyList_SET_ITEM(fresh.get(), i, Py_NewRef(f[p[2 + i]]));
  return PyList_SetSlice(f[p[0]], 0, size, fresh.get()) == 0;
}

bool dict_replace_(Frame& f, const int32_t* p) {
  PyDict_Clear(f[p[0]]);
  for (int32_t i = 0; i < p[1]; i += 2) {
    if (PyDict_SetItem(f[p[0]], f[p[2 + i]], f[p[3 + i]]) < 0) return false;
  }
  return true;
}

bool set_replace_(Frame& f, const int32_t* p) {
  if (PySet_Clear(f[p[0]]) < 0) return false;
  for (int32_t i = 0; i < p[1]; ++i) {
    if (PySet_Add(f[p[0]], f[p[2 + i]]) < 0) return false;
  }
  return true;
}

}  // namespace dvm::capture::steps
