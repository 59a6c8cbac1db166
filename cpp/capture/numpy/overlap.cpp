#include "capture/numpy/overlap.h"

#include "capture/numpy/extent.h"

namespace dvm::capture {

namespace {

PyObject* g_shares_memory = nullptr;
PyObject* g_max_work = nullptr;
PyObject* g_names = nullptr;

}  // namespace

bool import_overlap() {
  Ref umath = Ref::steal(PyImport_ImportModule("numpy._core._multiarray_umath"));
  if (!umath) return false;
  g_shares_memory = PyObject_GetAttrString(umath.get(), "shares_memory");
  g_max_work = PyLong_FromLong(kOverlapWork);
  g_names = Py_BuildValue("(s)", "max_work");
  return g_shares_memory && g_max_work && g_names;
}

bool may_overlap(PyObject* a, PyObject* b) {
  if (!PyArray_Check(a) || !PyArray_Check(b)) return false;
  return extent_of(reinterpret_cast<PyArrayObject*>(a))
      .meets(extent_of(reinterpret_cast<PyArrayObject*>(b)));
}

bool share_elements(PyObject* a, PyObject* b) {
  if (!may_overlap(a, b)) return false;
  PyObject* const given[] = {a, b, g_max_work};
  const Ref shared = Ref::steal(PyObject_Vectorcall(g_shares_memory, given, 2, g_names));
  if (!shared) PyErr_Clear();
  return !shared || shared.get() == Py_True;
}

bool is_same_view(PyObject* a, PyObject* b) {
  if (!PyArray_Check(a) || !PyArray_Check(b)) return false;
  auto* one = reinterpret_cast<PyArrayObject*>(a);
  auto* other = reinterpret_cast<PyArrayObject*>(b);
  if (PyArray_DATA(one) != PyArray_DATA(other) || PyArray_DESCR(one) != PyArray_DESCR(other) ||
      !PyArray_SAMESHAPE(one, other)) {
    return false;
  }
  for (int d = 0; d < PyArray_NDIM(one); ++d) {
    if (PyArray_STRIDE(one, d) != PyArray_STRIDE(other, d)) return false;
  }
  return true;
}

}  // namespace dvm::capture
