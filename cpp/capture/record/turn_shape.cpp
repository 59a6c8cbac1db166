#include "capture/record/turn_shape.h"

#include <unordered_map>

#include "capture/library/library.h"

namespace dvm::capture {

namespace {

// Places in the records of nodes and events that Python has (bindings/bind_recording.cpp).
enum { kNodeObject = 4 };
enum { kEventKind, kEventName, kEventOperands, kEventKeywords, kEventResult };

class Shape {
 public:
  explicit Shape(PyObject* nodes) : nodes_(nodes) {}

  void add(PyObject* event) {
    add_name(PyTuple_GET_ITEM(event, kEventKind));
    add_name(PyTuple_GET_ITEM(event, kEventName));
    PyObject* const keywords = PyTuple_GET_ITEM(event, kEventKeywords);
    PyObject* const operands = PyTuple_GET_ITEM(event, kEventOperands);
    mix(static_cast<uint64_t>(PyList_GET_SIZE(keywords)));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keywords); ++i) {
      add_name(PyList_GET_ITEM(keywords, i));
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(operands); ++i) {
      add_node(PyLong_AsSsize_t(PyList_GET_ITEM(operands, i)));
    }
    add_node(PyLong_AsSsize_t(PyTuple_GET_ITEM(event, kEventResult)));
  }
  int64_t hash() const { return static_cast<int64_t>(hash_); }

 private:
  void mix(uint64_t value) {
    constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
    hash_ = (hash_ ^ value) * kOdd;
    hash_ ^= hash_ >> 29;
  }

  void add_name(PyObject* name) {
    const Py_hash_t hash = PyObject_Hash(name);
    if (hash == -1) PyErr_Clear();
    mix(static_cast<uint64_t>(hash));
  }

  // Which of the nodes met it is, and what kind of object it has.
  void add_node(Py_ssize_t node) {
    const auto [found, added] = places_.try_emplace(node, places_.size());
    mix(found->second);
    if (!added || node < 0 || node >= PyList_GET_SIZE(nodes_)) return;
    PyObject* const object = PyTuple_GET_ITEM(PyList_GET_ITEM(nodes_, node), kNodeObject);
    mix(reinterpret_cast<uintptr_t>(Py_TYPE(object)));
    const Library* const library = exact_library_of(object);
    if (library == nullptr) return;
    const ArrayView array = library->view(object);
    mix(static_cast<uint64_t>(array.kind));
    mix(static_cast<uint64_t>(array.item_bytes));
    mix(static_cast<uint64_t>(array.rank));
    mix(array.flags & (kCContiguous | kFContiguous));
    mix(array.size() > 0 ? 1 : 0);
  }

  PyObject* const nodes_;
  std::unordered_map<Py_ssize_t, size_t> places_;
  uint64_t hash_ = 0;
};

}  // namespace

int64_t shape_of_turn(PyObject* nodes, PyObject* events, Py_ssize_t begin, Py_ssize_t end) {
  Shape shape(nodes);
  for (Py_ssize_t i = begin; i < end; ++i) shape.add(PyList_GET_ITEM(events, i));
  return shape.hash();
}

}  // namespace dvm::capture
