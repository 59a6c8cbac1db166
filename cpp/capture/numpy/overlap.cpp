#include "capture/numpy/overlap.h"

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

bool shares_memory(PyObject* a, PyObject* b) {
  PyObject* const given[] = {a, b, g_max_work};
  const Ref shared = Ref::steal(PyObject_Vectorcall(g_shares_memory, given, 2, g_names));
  if (!shared) PyErr_Clear();
  return !shared || shared.get() == Py_True;
}

}  // namespace dvm::capture
