// What the program does to objects that others see, in program order behind the commit. A failure
// is the program's own exception. `put` alone comes before it, into what a loop is lent: that, and
// what a turn of a loop does, may be taken back (undo.h).
#include <cstring>

#include "capture/library/library.h"
#include "capture/replay/frame.h"
#include "capture/replay/lock.h"

namespace dvm::capture::steps {

namespace {

// Copies what is a single run of memory, here as there, which NumPy takes ten times as long to find
// out for small arrays. False where it is not.
bool copy_run(const Frame& f, const ArrayView& to, const ArrayView& from) {
  constexpr uint32_t kNeeded = kCContiguous | kAligned | kWriteable;
  constexpr uint32_t kHindering = kWarnsWhenWritten | kHoldsObjects;
  if (!to.has(kNeeded) || (to.flags & kHindering) != 0 || !from.has(kCContiguous) ||
      to.elements != from.elements || !to.has_shape_of(from)) {
    return false;
  }
  constexpr int64_t kLongBytes = int64_t{1} << 18;
  const int64_t bytes = to.bytes();
  const Unlocked unlocked(bytes >= kLongBytes && may_unlock(f));
  std::memmove(to.data, from.data, static_cast<size_t>(bytes));
  return true;
}

}  // namespace

bool copyto_(Frame& f, const int32_t* p) {
  if (f[p[0]] == f[p[1]]) return true;  // the segment wrote it there
  f.undo().keep(f[p[0]]);
  const Library* const library = library_of(f[p[0]]);
  if (library == nullptr) {
    PyErr_SetString(PyExc_TypeError, "copyto needs an array");
    return false;
  }
  if (library->is_array(f[p[1]]) && copy_run(f, library->view(f[p[0]]), library->view(f[p[1]]))) {
    return true;
  }
  return library->write(f[p[0]], f[p[1]]);
}

bool put_(Frame& f, const int32_t* p) {
  f.call.wrote = true;
  return copyto_(f, p);
}

bool set_attribute_(Frame& f, const int32_t* p) {
  return PyObject_SetAttr(f[p[0]], f.path->object(p[1]), f[p[2]]) == 0;
}

bool delete_attribute_(Frame& f, const int32_t* p) {
  return PyObject_DelAttr(f[p[0]], f.path->object(p[1])) == 0;
}

bool set_item_(Frame& f, const int32_t* p) {
  f.undo().keep(f[p[0]]);  // of an array, whatever elements the key names
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
