// What the program does to objects that others see, in program order behind the commit. A failure
// is the program's own exception.
#include <cstring>

#include "capture/numpy/numpy_api.h"
#include "capture/replay/frame.h"
#include "capture/replay/lock.h"

namespace dvm::capture::steps {

namespace {

// Copies what is a single run of memory, here as there, which NumPy takes ten times as long to find
// out for small arrays. False where it is not.
bool copy_run(const Frame& f, PyArrayObject* to, PyArrayObject* from) {
  if (!PyArray_CHKFLAGS(to, NPY_ARRAY_CARRAY) || warns_when_written(to) ||
      !PyArray_IS_C_CONTIGUOUS(from) || PyArray_DESCR(to) != PyArray_DESCR(from) ||
      PyDataType_REFCHK(PyArray_DESCR(to)) || !PyArray_SAMESHAPE(to, from)) {
    return false;
  }
  constexpr npy_intp kLongBytes = npy_intp{1} << 18;
  const Unlocked unlocked(PyArray_NBYTES(to) >= kLongBytes && may_unlock(f));
  std::memmove(PyArray_DATA(to), PyArray_DATA(from), static_cast<size_t>(PyArray_NBYTES(to)));
  return true;
}

}  // namespace

bool copyto_(Frame& f, const int32_t* p) {
  if (f[p[0]] == f[p[1]]) return true;  // the segment wrote it there
  if (!PyArray_Check(f[p[0]])) {
    PyErr_SetString(PyExc_TypeError, "copyto needs an array");
    return false;
  }
  auto* const to = reinterpret_cast<PyArrayObject*>(f[p[0]]);
  if (PyArray_Check(f[p[1]]) && copy_run(f, to, reinterpret_cast<PyArrayObject*>(f[p[1]]))) {
    return true;
  }
  // Handles overlap and read-only arrays as np.copyto does.
  Ref source = Ref::steal(PyArray_FROM_O(f[p[1]]));
  return source && PyArray_CopyInto(to, reinterpret_cast<PyArrayObject*>(source.get())) == 0;
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
  if (PyCell_Check(f[p[0]])) return PyCell_Set(f[p[0]], f[p[1]]) == 0;
  PyErr_SetString(PyExc_TypeError, "set_cell needs a cell");
  return false;
}

bool list_replace_(Frame& f, const int32_t* p) {
  const Py_ssize_t size = PyList_Size(f[p[0]]);
  Ref fresh = Ref::steal(PyList_New(p[1]));
  if (size < 0 || !fresh) return false;
  for (int32_t i = 0; i < p[1]; ++i) PyList_SET_ITEM(fresh.get(), i, Py_NewRef(f[p[2 + i]]));
  return PyList_SetSlice(f[p[0]], 0, size, fresh.get()) == 0;
}

bool dict_fill_(Frame& f, const int32_t* p) {
  for (int32_t i = 0; i < p[1]; i += 2) {
    if (PyDict_SetItem(f[p[0]], f[p[2 + i]], f[p[3 + i]]) < 0) return false;
  }
  return true;
}

bool unlock_(Frame& f, const int32_t*) { return f.locks.release(); }

}  // namespace dvm::capture::steps
