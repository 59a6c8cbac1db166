#include "capture/known_object.h"

namespace dvm::capture {

namespace {

PyTypeObject* make_known_type() {
  PyType_Slot slots[] = {{0, nullptr}};
  PyType_Spec spec = {"dvm.KnownAs", 0, 0, Py_TPFLAGS_DEFAULT, slots};
  PyObject* const base = reinterpret_cast<PyObject*>(&_PyWeakref_RefType);
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&spec, base));
}

PyTypeObject* known_type = nullptr;

}  // namespace

Ref known_as(PyObject* object) {
  if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) return Ref::borrow(object);
  // One for each object, by which paths compare what they know.
  auto* each = *reinterpret_cast<PyWeakReference**>(PyObject_GET_WEAKREFS_LISTPTR(object));
  for (; each != nullptr; each = each->wr_next) {
    if (is_known_as(each)) return Ref::borrow(reinterpret_cast<PyObject*>(each));
  }
  if (known_type == nullptr) known_type = make_known_type();
  if (known_type != nullptr) {
    Ref weak = Ref::steal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(known_type), object));
    if (weak) return weak;
  }
  PyErr_Clear();
  return Ref::borrow(object);
}

bool is_known_as(const void* reference) {
  return Py_TYPE(static_cast<const PyObject*>(reference)) == known_type;
}

}  // namespace dvm::capture
