#include "capture/replay/program_locks.h"

#include <utility>

namespace dvm::capture {

namespace {

struct Names {
  PyObject* acquire = PyUnicode_InternFromString("acquire");
  PyObject* release = PyUnicode_InternFromString("release");
};
const Names& names() {
  static const Names made;
  return made;
}

}  // namespace

bool ProgramLocks::take(PyObject* lock) {
  if (names().acquire == nullptr || names().release == nullptr) return false;
  held_.reserve(held_.size() + 1);  // nothing can fail once it is taken
  PyObject* const arguments[] = {lock, Py_False};
  const Ref taken = Ref::steal(PyObject_VectorcallMethod(names().acquire, arguments, 2, nullptr));
  if (taken.get() != Py_True) return false;
  held_.push_back(Ref::borrow(lock));
  return true;
}

bool ProgramLocks::release() {
  Ref type, value, traceback;
  while (!held_.empty()) {
    const Ref lock = std::move(held_.back());
    held_.pop_back();
    PyObject* const self = lock.get();
    if (Ref::steal(PyObject_VectorcallMethod(names().release, &self, 1, nullptr))) continue;
    PyObject *t, *v, *tb;
    PyErr_Fetch(&t, &v, &tb);
    const Ref owned[] = {Ref::steal(t), Ref::steal(v), Ref::steal(tb)};
    if (!type) type = owned[0], value = owned[1], traceback = owned[2];
  }
  if (!type) return true;
  PyErr_Restore(type.release(), value.release(), traceback.release());
  return false;
}

void ProgramLocks::abandon() {
  if (held_.empty()) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (!release()) PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

}  // namespace dvm::capture
