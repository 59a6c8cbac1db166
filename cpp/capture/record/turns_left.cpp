#include "capture/record/turns_left.h"

#include <algorithm>
#include <array>

#include "capture/library/library.h"

namespace dvm::capture {

namespace {

// The least of what the iterators in it have left; -1: of one that is not known.
struct Least {
  int64_t found = -1;
  bool unknown = false;
};

int visit(PyObject* object, void* least) {
  auto* const all = static_cast<Least*>(least);
  if (PyTuple_CheckExact(object))
    return PyTuple_Type.tp_traverse(object, visit, least);  // of `zip`
  if (!PyIter_Check(object)) return 0;
  const int64_t left = turns_left(object);
  all->unknown = all->unknown || left < 0;
  all->found = all->found < 0 ? left : std::min(all->found, left);
  return 0;
}

// Whether it iterates, item by item, over an array of exactly a library's class.
bool is_over_array(PyObject* iterator) {
  struct Found {
    bool array = false;
  } found;
  const auto look = [](PyObject* object, void* into) {
    static_cast<Found*>(into)->array = exact_library_of(object) != nullptr;
    return 0;
  };
  Py_TYPE(iterator)->tp_traverse(iterator, look, &found);
  return found.array;
}

}  // namespace

// Of str, of ASCII characters alone and others, and of bytes.
bool is_text_iterator(PyObject* iterator) {
  static const std::array<PyTypeObject*, 3> types = [] {
    const auto type_of = [](Ref text) {
      const Ref made = Ref::steal(PyObject_GetIter(text.get()));
      return Py_TYPE(made.get());  // lives as long as the process
    };
    return std::array{type_of(Ref::steal(PyUnicode_FromString("a"))),
                      type_of(Ref::steal(PyUnicode_FromOrdinal(0xe9))),
                      type_of(Ref::steal(PyBytes_FromString("a")))};
  }();
  return std::ranges::find(types, Py_TYPE(iterator)) != types.end();
}

int64_t turns_left(PyObject* iterator) {
  PyTypeObject* const type = Py_TYPE(iterator);
  if (type == &PyEnum_Type || type == &PyZip_Type) {
    Least least;
    type->tp_traverse(iterator, visit, &least);
    return least.unknown ? -1 : least.found;
  }
  const std::array<PyTypeObject*, 3> plain = {&PyRangeIter_Type, &PyListIter_Type,
                                              &PyTupleIter_Type};
  const bool is_known = std::ranges::find(plain, type) != plain.end() ||
                        (type == &PySeqIter_Type && is_over_array(iterator)) ||
                        is_text_iterator(iterator);
  if (!is_known) return -1;
  const Py_ssize_t left = PyObject_LengthHint(iterator, -1);
  if (left < 0) PyErr_Clear();
  return left;
}

}  // namespace dvm::capture
