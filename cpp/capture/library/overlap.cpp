#include "capture/library/overlap.h"

#include <algorithm>

#include "capture/library/extent.h"
#include "capture/library/library.h"

namespace dvm::capture {

namespace {

// Two objects that may be arrays, with their libraries.
struct Pair {
  Pair(PyObject* a, PyObject* b) : one(library_of(a)), other(library_of(b)) {}
  bool are_arrays() const { return one != nullptr && other != nullptr; }
  const Library *one, *other;
};

bool meet(const Pair& pair, PyObject* a, PyObject* b) {
  return pair.are_arrays() && extent_of(pair.one->view(a)).meets(extent_of(pair.other->view(b)));
}

}  // namespace

bool may_overlap(PyObject* a, PyObject* b) { return meet({a, b}, a, b); }

bool share_elements(PyObject* a, PyObject* b) {
  const Pair pair(a, b);
  return meet(pair, a, b) && (pair.one != pair.other || pair.one->share_elements(a, b));
}

bool is_same_view(PyObject* a, PyObject* b) {
  const Pair pair(a, b);
  if (!pair.are_arrays() || pair.one != pair.other) return false;
  const ArrayView one = pair.one->view(a), other = pair.other->view(b);
  return one.data == other.data && one.elements == other.elements && one.has_shape_of(other) &&
         std::equal(one.strides, one.strides + one.rank, other.strides);
}

}  // namespace dvm::capture
