#include "capture/numpy_host.h"

#include <cstring>

namespace dvm::capture {

namespace {

PyObject* new_array(core::DType dtype, int rank, const npy_intp* shape) {
  PyArray_Descr* descr = descr_of(dtype);
  Py_INCREF(descr);  // stolen by NumPy
  return PyArray_NewFromDescr(&PyArray_Type, descr, rank, shape, nullptr, nullptr, 0, nullptr);
}

// Whether the buffer is all of its owner, as the owner sees itself.
bool is_whole(PyArrayObject* owner, const runtime::BufferView& buffer) {
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

}  // namespace

PyObject* NumpyHost::array_of(const runtime::BufferView& buffer) const {
  const npy_intp* shape = buffer.shape;
  if (is_slot(buffer.owner)) {
    PyObject* array = new_array(buffer.dtype, buffer.rank, shape);
    if (array != nullptr) {
      std::memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)), buffer.data,
                  static_cast<size_t>(core::byte_size(buffer.dtype)));
    }
    return array;
  }
  auto* owner = static_cast<PyObject*>(buffer.owner);
  if (is_whole(reinterpret_cast<PyArrayObject*>(owner), buffer)) return Py_NewRef(owner);
  PyArray_Descr* descr = descr_of(buffer.dtype);
  Py_INCREF(descr);
  PyObject* view = PyArray_NewFromDescr(
      &PyArray_Type, descr, buffer.rank, shape, buffer.strides, buffer.data,
      PyArray_FLAGS(reinterpret_cast<PyArrayObject*>(owner)) & NPY_ARRAY_WRITEABLE, nullptr);
  // SetBaseObject steals the reference to the owner, also when it fails.
  if (view && PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(view), Py_NewRef(owner)) < 0) {
    Py_CLEAR(view);
  }
  return view;
}

bool NumpyHost::allocate(core::DType dtype, std::span<const int64_t> shape,
                         runtime::BufferView& out) {
  if (shape.empty() && used_ < slots_.size()) {
    ValueSlot& slot = slots_[used_++];
    out.data = slot.bytes;
    out.owner = &slot;
    out.dtype = dtype;
    out.rank = 0;
    return true;
  }
  PyObject* array = new_array(dtype, static_cast<int>(shape.size()), shape.data());
  if (array == nullptr) return false;
  view_into(reinterpret_cast<PyArrayObject*>(array), dtype, out);
  return true;
}

// A path calls host functions as steps of its own, between segments.
bool NumpyHost::call(int, std::span<const runtime::BufferView>, runtime::BufferView&) {
  PyErr_SetString(PyExc_SystemError, "a segment of a path calls a host function");
  return false;
}

}  // namespace dvm::capture
