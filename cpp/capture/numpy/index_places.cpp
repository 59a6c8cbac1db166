#include "capture/numpy/index_places.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "capture/numpy/places.h"

namespace dvm::capture {

namespace {

bool check(PyArrayObject* array, PyObject* key, PyObject* value) {
  const bool several = PyTuple_CheckExact(key);
  const Py_ssize_t parts = several ? PyTuple_GET_SIZE(key) : 1;
  if (parts > PyArray_NDIM(array)) return fail(PyExc_IndexError, "too many indices");
  IndexShape shape;
  for (int d = PyArray_NDIM(array) - 1; d >= parts; --d) {
    shape.sizes[shape.rank++] = PyArray_DIM(array, d);
  }
  const int rest = shape.rank;
  for (Py_ssize_t i = 0; i < parts; ++i) {
    Places places;
    if (!places.read(several ? PyTuple_GET_ITEM(key, i) : key)) return false;
    if (!places.within(PyArray_DIM(array, static_cast<int>(i)))) return false;
    const int rank = PyArray_NDIM(places.get());
    while (shape.rank < rest + rank) shape.sizes[shape.rank++] = 1;
    for (int d = 0; d < rank; ++d) {
      npy_intp& size = shape.sizes[rest + rank - 1 - d];
      const npy_intp own = PyArray_DIM(places.get(), d);
      if (size != own && size != 1 && own != 1) {
        return fail(PyExc_IndexError, "indices do not fit together");
      }
      if (size == 1) size = own;
    }
  }
  return !PyArray_Check(value) || fits(reinterpret_cast<PyArrayObject*>(value), shape);
}

// Numbers places in the order in which they first come up. Open addressing.
class Numbering {
 public:
  explicit Numbering(npy_intp count)
      : shift_(std::countl_zero(static_cast<uint64_t>(2 * count + 1))),
        slots_(size_t{1} << (64 - shift_), -1) {}

  npy_intp number(npy_intp place, std::vector<npy_intp>& places) {
    const size_t mask = slots_.size() - 1;
    size_t at = (static_cast<uint64_t>(place) * 0x9E3779B97F4A7C15U) >> shift_;
    for (;; at = (at + 1) & mask) {
      if (slots_[at] < 0) {
        slots_[at] = static_cast<npy_intp>(places.size());
        places.push_back(place);
      }
      if (places[static_cast<size_t>(slots_[at])] == place) return slots_[at];
    }
  }

 private:
  int shift_;
  std::vector<npy_intp> slots_;
};

npy_intp* integers(const Ref& array) {
  return static_cast<npy_intp*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.get())));
}

// What the places along several axes are together: one number each, broadcast to one shape.
bool join_places(PyArrayObject* array, PyObject* key, Places& joined) {
  const Py_ssize_t parts = PyTuple_GET_SIZE(key);
  if (parts == 0 || parts > PyArray_NDIM(array)) {
    return fail(PyExc_IndexError, "too many indices");
  }
  for (Py_ssize_t i = 0; i < parts; ++i) {
    Places places;
    const npy_intp size = PyArray_DIM(array, static_cast<int>(i));
    if (!places.read(PyTuple_GET_ITEM(key, i)) || !places.within(size)) return false;
    Ref own = Ref::steal(PyArray_NewLikeArray(places.get(), NPY_CORDER, nullptr, 0));
    if (!own) return false;
    for (npy_intp j = 0; j < places.count; ++j) {
      integers(own)[j] = places.data[j] + (places.data[j] < 0 ? size : 0);
    }
    if (i == 0) {
      joined.array = std::move(own);
      continue;
    }
    const Ref length = Ref::steal(PyLong_FromSsize_t(size));
    const Ref outer =
        Ref::steal(length ? PyNumber_Multiply(joined.array.get(), length.get()) : nullptr);
    joined.array = Ref::steal(outer ? PyNumber_Add(outer.get(), own.get()) : nullptr);
    if (!joined.array) return false;
  }
  return joined.read(Ref(joined.array).get());
}

// The places along each axis that numbers over the first `parts` axes mean.
Ref split_places(PyArrayObject* array, Py_ssize_t parts, std::vector<npy_intp>& places) {
  npy_intp count = static_cast<npy_intp>(places.size());
  Ref axes = Ref::steal(PyTuple_New(parts));
  for (Py_ssize_t i = parts - 1; axes && i >= 0; --i) {
    Ref each = Ref::steal(PyArray_SimpleNew(1, &count, NPY_INTP));
    if (!each) return {};
    const npy_intp size = std::max<npy_intp>(PyArray_DIM(array, static_cast<int>(i)), 1);
    for (npy_intp j = 0; j < count; ++j) {
      npy_intp& place = places[static_cast<size_t>(j)];
      integers(each)[j] = i == 0 ? place : place % size;
      place /= size;
    }
    PyTuple_SET_ITEM(axes.get(), i, each.release());
  }
  return axes;
}

PyObject* distinct(PyArrayObject* array, PyObject* key) {
  const bool several = PyTuple_CheckExact(key);
  if (PyArray_NDIM(array) == 0) return fail(PyExc_IndexError, "too many indices"), nullptr;
  Places given;
  if (!(several ? join_places(array, key, given) : given.read(key))) return nullptr;
  const npy_intp size = PyArray_DIM(array, 0);
  if (!several && !given.within(size)) return nullptr;
  PyArrayObject* const like = given.get();
  Ref inverse = Ref::steal(PyArray_SimpleNew(PyArray_NDIM(like), PyArray_DIMS(like), NPY_INTP));
  if (!inverse) return nullptr;
  std::vector<npy_intp> places;
  Numbering numbering(given.count);
  for (npy_intp i = 0; i < given.count; ++i) {
    const npy_intp place = given.data[i] + (given.data[i] < 0 ? size : 0);
    integers(inverse)[i] = numbering.number(place, places);
  }
  Ref each = split_places(array, several ? PyTuple_GET_SIZE(key) : 1, places);
  if (!each) return nullptr;
  PyObject* const found = several ? each.get() : PyTuple_GET_ITEM(each.get(), 0);
  return PyTuple_Pack(2, found, inverse.get());
}

template <Py_ssize_t count>
bool is_given(PyObject* const* given, Py_ssize_t number) {
  if (number == count && PyArray_Check(given[0])) return true;
  return fail(PyExc_TypeError, "expected an array and what indexes it");
}

PyObject* check_index(PyObject*, PyObject* const* given, Py_ssize_t count) {
  if (!is_given<3>(given, count)) return nullptr;
  try {
    if (!check(reinterpret_cast<PyArrayObject*>(given[0]), given[1], given[2])) return nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  return Py_NewRef(Py_None);
}

PyObject* distinct_places(PyObject*, PyObject* const* given, Py_ssize_t count) {
  if (!is_given<2>(given, count)) return nullptr;
  try {
    return distinct(reinterpret_cast<PyArrayObject*>(given[0]), given[1]);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

PyMethodDef method(const char* name, PyObject* (*call)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)), METH_FASTCALL,
          nullptr};
}

}  // namespace

PyMethodDef index_functions[] = {method("check_index", check_index),
                                 method("distinct_places", distinct_places),
                                 method("read_through", read_through),
                                 {nullptr, nullptr, 0, nullptr}};

}  // namespace dvm::capture
