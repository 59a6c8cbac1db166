#include "capture/numpy/results.h"

#include <algorithm>

#include "capture/numpy/array_memory.h"

namespace dvm::capture {

namespace {

// Whether the buffer is all of its owner, as the owner sees itself.
bool is_all_of(PyArrayObject* owner, const runtime::BufferView& buffer) {
  if (PyArray_BYTES(owner) != reinterpret_cast<char*>(buffer.data) ||
      PyArray_NDIM(owner) != buffer.rank) {
    return false;
  }
  for (int i = 0; i < buffer.rank; ++i) {
    if (PyArray_DIM(owner, i) != buffer.shape[i] || PyArray_STRIDE(owner, i) != buffer.strides[i]) {
      return false;
    }
  }
  return true;
}

// Whether it is all elements of its owner in their order, in another shape.
bool is_reshape(PyArrayObject* owner, const runtime::BufferView& buffer) {
  if (PyArray_BYTES(owner) != reinterpret_cast<char*>(buffer.data) ||
      !PyArray_IS_C_CONTIGUOUS(owner) || !PyArray_CHKFLAGS(owner, NPY_ARRAY_OWNDATA)) {
    return false;
  }
  int64_t stride = core::byte_size(buffer.dtype);
  for (int i = buffer.rank - 1; i >= 0; --i) {
    if (buffer.shape[i] != 1 && buffer.strides[i] != stride) return false;
    stride *= buffer.shape[i];
  }
  return stride == PyArray_NBYTES(owner) && stride > 0;
}

// Keeps nothing alive.
PyObject* borrowing_view(const runtime::BufferView& buffer) {
  PyArray_Descr* descr = descr_of(buffer.dtype);
  Py_INCREF(descr);
  return PyArray_NewFromDescr(&PyArray_Type, descr, buffer.rank, buffer.shape, buffer.strides,
                              buffer.data, NPY_ARRAY_WRITEABLE, nullptr);
}

}  // namespace

PyObject* numpy_result(const runtime::BufferView& buffer) {
  auto* owner = static_cast<PyArrayObject*>(buffer.owner);
  const bool untaken = Py_REFCNT(owner) == 1;  // by an earlier result; the one is the Plan's
  if (untaken && is_all_of(owner, buffer)) {
    return Py_NewRef(reinterpret_cast<PyObject*>(owner));
  }
  if (untaken && is_reshape(owner, buffer)) {
    return take_over_memory(owner, buffer.rank, buffer.shape);
  }
  const Ref view = Ref::steal(borrowing_view(buffer));
  if (!view) return nullptr;
  return PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(view.get()), NPY_CORDER);
}

PyObject* numpy_argument(const runtime::BufferView& buffer) {
  auto* owner = static_cast<PyObject*>(buffer.owner);
  auto* array = reinterpret_cast<PyArrayObject*>(owner);
  if (is_all_of(array, buffer)) return Py_NewRef(owner);
  PyObject* view = borrowing_view(buffer);
  if (view == nullptr) return nullptr;
  if (!PyArray_ISWRITEABLE(array)) {
    PyArray_CLEARFLAGS(reinterpret_cast<PyArrayObject*>(view), NPY_ARRAY_WRITEABLE);
  }
  // SetBaseObject steals the reference to the owner, also when it fails.
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(view), Py_NewRef(owner)) < 0) {
    Py_CLEAR(view);
  }
  return view;
}

// A fresh array is changed in place, so that it owns its memory, as NumPy's own results do.
PyObject* numpy_permuted(Ref object, std::span<const int8_t> order, bool fresh) {
  auto* array = reinterpret_cast<PyArrayObject*>(object.get());
  const int rank = PyArray_NDIM(array);
  npy_intp shape[core::kMaxRank], strides[core::kMaxRank], axes[core::kMaxRank];
  for (int i = 0; i < rank; ++i) {
    axes[i] = order[static_cast<size_t>(i)];
    shape[i] = PyArray_DIM(array, static_cast<int>(axes[i]));
    strides[i] = PyArray_STRIDE(array, static_cast<int>(axes[i]));
  }
  if (!fresh) {
    PyArray_Dims permutation{axes, rank};
    return PyArray_Transpose(array, &permutation);
  }
  std::copy_n(shape, rank, PyArray_DIMS(array));
  std::copy_n(strides, rank, PyArray_STRIDES(array));
  PyArray_UpdateFlags(array, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS);
  return object.release();
}

}  // namespace dvm::capture
