// Rows of an array as they are behind writes that wait for the commit.
#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "capture/numpy/index_places.h"
#include "capture/numpy/places.h"

namespace dvm::capture {

namespace {

// What is written at places: the elements of each lie from `data` on, with a stride for each axis
// of the index, and of the array's other axes.
struct Source {
  const char* data;
  std::vector<npy_intp> index_strides, strides;  // 0 where the value is broadcast
};

void copy_elements(char* to, const npy_intp* to_strides, const char* from, const npy_intp* strides,
                   const npy_intp* sizes, int rank, npy_intp bytes) {
  if (rank == 0) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  if (rank == 1 && *to_strides == bytes && *strides == bytes) {
    std::memcpy(to, from, static_cast<size_t>(bytes * *sizes));
    return;
  }
  for (npy_intp i = 0; i < *sizes; ++i) {
    copy_elements(to + i * *to_strides, to_strides + 1, from + i * *strides, strides + 1, sizes + 1,
                  rank - 1, bytes);
  }
}

// Where the element of an index with this number, in C order, begins.
npy_intp offset_of(npy_intp number, const npy_intp* sizes, const npy_intp* strides, int rank) {
  npy_intp offset = 0;
  for (int axis = rank - 1; axis >= 0; --axis) {
    offset += number % sizes[axis] * strides[axis];
    number /= sizes[axis];
  }
  return offset;
}

class Reader {
 public:
  Reader(PyArrayObject* array, PyArrayObject* made, const Places& places)
      : array_(array), made_(made), rank_(PyArray_NDIM(places.get())) {
    const npy_intp size = PyArray_DIM(array, 0);
    for (npy_intp i = 0; i < places.count; ++i) {
      wanted_[places.data[i] + (places.data[i] < 0 ? size : 0)].push_back(i);
    }
  }

  // False: a Python error is set.
  bool write(PyObject* key, PyObject* value) {
    Ref held = PyArray_Check(value) ? Ref::borrow(value) : Ref::steal(PyArray_FROM_O(value));
    if (!held) return false;
    auto* const from = reinterpret_cast<PyArrayObject*>(held.get());
    if (PyArray_DESCR(from) != PyArray_DESCR(array_)) {
      return fail(PyExc_TypeError, "a value of another dtype");
    }
    const npy_intp size = PyArray_DIM(array_, 0);
    if (PySlice_Check(key)) {
      Py_ssize_t start, stop, step;
      if (PySlice_Unpack(key, &start, &stop, &step) < 0) return false;
      const npy_intp count = PySlice_AdjustIndices(size, &start, &stop, step);
      Source source;
      if (!read(from, 1, &count, source)) return false;
      // The shorter way round: few rows are read, of many that are written.
      for (auto& [place, numbers] : wanted_) {
        const npy_intp behind = place - start;
        if (behind % step == 0 && behind / step >= 0 && behind / step < count) {
          put(numbers, source, behind / step * source.index_strides[0]);
        }
      }
      return true;
    }
    Places written;
    Source source;
    if (!written.read(key) || !written.within(size)) return false;
    const int rank = PyArray_NDIM(written.get());
    const npy_intp* const sizes = PyArray_DIMS(written.get());
    if (!read(from, rank, sizes, source)) return false;
    for (npy_intp j = 0; j < written.count; ++j) {  // of equal places the last one counts
      const auto found = wanted_.find(written.data[j] + (written.data[j] < 0 ? size : 0));
      if (found == wanted_.end()) continue;
      put(found->second, source, offset_of(j, sizes, source.index_strides.data(), rank));
    }
    return true;
  }

 private:
  // The value broadcast to the shape of an index and the array's axes behind the first.
  bool read(PyArrayObject* from, int rank, const npy_intp* sizes, Source& source) const {
    IndexShape shape;
    for (int d = PyArray_NDIM(array_) - 1; d > 0; --d) {
      shape.sizes[shape.rank++] = PyArray_DIM(array_, d);
    }
    for (int d = rank - 1; d >= 0; --d) shape.sizes[shape.rank++] = sizes[d];
    if (!fits(from, shape)) return false;
    source.data = PyArray_BYTES(from);
    for (int d = shape.rank - 1; d >= 0; --d) {
      const int own = PyArray_NDIM(from) - 1 - d;
      const bool repeats = own < 0 || PyArray_DIM(from, own) == 1;
      auto& strides = d >= PyArray_NDIM(array_) - 1 ? source.index_strides : source.strides;
      strides.push_back(repeats ? 0 : PyArray_STRIDE(from, own));
    }
    return true;
  }

  void put(const std::vector<npy_intp>& numbers, const Source& source, npy_intp offset) {
    for (const npy_intp number : numbers) {
      char* const to = PyArray_BYTES(made_) +
                       offset_of(number, PyArray_DIMS(made_), PyArray_STRIDES(made_), rank_);
      copy_elements(to, PyArray_STRIDES(made_) + rank_, source.data + offset, source.strides.data(),
                    PyArray_DIMS(made_) + rank_, PyArray_NDIM(made_) - rank_,
                    PyArray_ITEMSIZE(made_));
    }
  }

  PyArrayObject *array_, *made_;
  int rank_;
  std::unordered_map<npy_intp, std::vector<npy_intp>> wanted_;  // place -> where it is read
};

PyObject* read_through(PyObject* const* given, Py_ssize_t count) {
  auto* const array = reinterpret_cast<PyArrayObject*>(given[0]);
  if (PyArray_NDIM(array) == 0) return fail(PyExc_IndexError, "too many indices"), nullptr;
  Places places;
  if (!places.read(given[1])) return nullptr;
  // As NumPy lays it out, and refuses it.
  Ref made = Ref::steal(PyObject_GetItem(given[0], places.array.get()));
  if (!made || places.count == 0) return made.release();
  if (!PyArray_Check(made.get())) return fail(PyExc_TypeError, "an index of one element"), nullptr;
  Reader reader(array, reinterpret_cast<PyArrayObject*>(made.get()), places);
  for (Py_ssize_t i = 2; i < count; i += 2) {
    if (!reader.write(given[i], given[i + 1])) return nullptr;
  }
  return made.release();
}

}  // namespace

PyObject* read_through(PyObject*, PyObject* const* given, Py_ssize_t count) {
  if (count < 2 || count % 2 != 0 || !PyArray_Check(given[0])) {
    PyErr_SetString(PyExc_TypeError, "expected an array, its index, and what was written where");
    return nullptr;
  }
  try {
    return read_through(given, count);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

}  // namespace dvm::capture
