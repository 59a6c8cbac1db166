#include "capture/index_places.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "capture/numpy_api.h"

namespace dvm::capture {

namespace {

bool fail(PyObject* kind, const char* text) {
  PyErr_SetString(kind, text);
  return false;
}

// The places along an axis that one part of a key names.
struct Places {
  Ref array;  // of npy_intp, dense in C order
  const npy_intp* data = nullptr;
  npy_intp count = 0;
  PyArrayObject* get() const { return reinterpret_cast<PyArrayObject*>(array.get()); }

  // False: a Python error is set. Nothing but integers names places.
  bool read(PyObject* part) {
    array = PyArray_Check(part) ? Ref::borrow(part) : Ref::steal(PyArray_FROM_O(part));
    if (!array) return false;
    if (!PyArray_ISINTEGER(get())) return fail(PyExc_IndexError, "an index of no integers");
    constexpr int kNeeded = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    if (PyArray_TYPE(get()) != NPY_INTP || !PyArray_CHKFLAGS(get(), kNeeded) ||
        PyArray_ISBYTESWAPPED(get())) {
      // A cast that may lose is refused, as NumPy does.
      array = Ref::steal(PyArray_FROM_OTF(array.get(), NPY_INTP, kNeeded));
      if (!array) return false;
    }
    data = static_cast<const npy_intp*>(PyArray_DATA(get()));
    count = PyArray_SIZE(get());
    return true;
  }

  bool within(npy_intp size) const {
    npy_intp low = 0, high = -1;
    for (npy_intp i = 0; i < count; ++i) {
      low = std::min(low, data[i]);
      high = std::max(high, data[i]);
    }
    return (low >= -size && high < size) || fail(PyExc_IndexError, "an index is out of bounds");
  }
};

// The shape that an index gives, last axis first.
struct Shape {
  npy_intp sizes[2 * NPY_MAXDIMS];
  int rank = 0;
};

// Whether a value can be broadcast to the shape; leading axes of size 1 do not count.
bool fits(PyArrayObject* value, const Shape& shape) {
  const int rank = PyArray_NDIM(value);
  for (int i = 0; i < rank; ++i) {
    const npy_intp size = PyArray_DIM(value, rank - 1 - i);
    const bool fits = i < shape.rank && size == shape.sizes[i];
    if (size != 1 && !fits) return fail(PyExc_ValueError, "a value does not fit an index");
  }
  return true;
}

bool check(PyArrayObject* array, PyObject* key, PyObject* value) {
  const bool several = PyTuple_CheckExact(key);
  const Py_ssize_t parts = several ? PyTuple_GET_SIZE(key) : 1;
  if (parts > PyArray_NDIM(array)) return fail(PyExc_IndexError, "too many indices");
  Shape shape;
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
      : shift_(64 - std::bit_width(static_cast<uint64_t>(2 * count + 1))),
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

PyObject* distinct(PyArrayObject* array, PyObject* key) {
  Places given;
  if (!given.read(key)) return nullptr;
  if (PyArray_NDIM(array) == 0) return fail(PyExc_IndexError, "too many indices"), nullptr;
  const npy_intp size = PyArray_DIM(array, 0);
  if (!given.within(size)) return nullptr;
  PyArrayObject* const like = given.get();
  Ref inverse = Ref::steal(PyArray_SimpleNew(PyArray_NDIM(like), PyArray_DIMS(like), NPY_INTP));
  if (!inverse) return nullptr;
  auto* const numbers =
      static_cast<npy_intp*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(inverse.get())));
  std::vector<npy_intp> places;
  Numbering numbering(given.count);
  for (npy_intp i = 0; i < given.count; ++i) {
    const npy_intp place = given.data[i] + (given.data[i] < 0 ? size : 0);
    numbers[i] = numbering.number(place, places);
  }
  npy_intp count = static_cast<npy_intp>(places.size());
  Ref each = Ref::steal(PyArray_SimpleNew(1, &count, NPY_INTP));
  if (!each) return nullptr;
  std::copy(places.begin(), places.end(),
            static_cast<npy_intp*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(each.get()))));
  return PyTuple_Pack(2, each.get(), inverse.get());
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
                                 {nullptr, nullptr, 0, nullptr}};

}  // namespace dvm::capture
