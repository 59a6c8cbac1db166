#include "capture/numpy/numpy_host.h"

#include <algorithm>
#include <cstring>

#include "capture/numpy/array_memory.h"
#include "runtime/execute/faults.h"
#include "vm/target/watch.h"

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

bool has_shape(PyArrayObject* array, std::span<const int64_t> shape) {
  return std::equal(shape.begin(), shape.end(), PyArray_DIMS(array),
                    PyArray_DIMS(array) + PyArray_NDIM(array));
}

// Keeps nothing alive.
PyObject* borrowing_view(const runtime::BufferView& buffer) {
  PyArray_Descr* descr = descr_of(buffer.dtype);
  Py_INCREF(descr);
  return PyArray_NewFromDescr(&PyArray_Type, descr, buffer.rank, buffer.shape, buffer.strides,
                              buffer.data, NPY_ARRAY_WRITEABLE, nullptr);
}

}  // namespace

bool NumpyHost::is_argument(const runtime::BufferView& result,
                            std::span<const runtime::BufferView> inputs) const {
  const auto owns = [&](const runtime::BufferView& input) { return input.owner == result.owner; };
  return !is_slot(result.owner) && std::any_of(inputs.begin(), inputs.end(), owns);
}

PyObject* NumpyHost::array_of(const runtime::BufferView& buffer) const {
  if (is_slot(buffer.owner)) {
    PyObject* array = new_array(buffer.dtype, buffer.rank, buffer.shape);
    if (array != nullptr) {
      std::memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)), buffer.data,
                  static_cast<size_t>(core::byte_size(buffer.dtype)));
    }
    return array;
  }
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

PyObject* NumpyHost::argument_of(const runtime::BufferView& buffer) {
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

bool NumpyHost::allocate(core::DType dtype, std::span<const int64_t> shape,
                         runtime::BufferView& out) {
  if (runtime::is_faulty()) {
    PyErr_NoMemory();
    return false;
  }
  const int32_t number = allocations_++;
  for (const PlacedResult& result : placed_) {
    if (result.allocation != number || !has_shape(result.array, shape)) continue;
    Py_INCREF(result.array);
    view_into(result.array, dtype, out);
    return true;
  }
  if (shape.empty() && used_ < slots_.size()) {
    ValueSlot& slot = slots_[used_++];
    out.data = slot.bytes;
    vm::Watch::tell_allocated(out.data, core::byte_size(dtype));
    out.owner = &slot;
    out.dtype = dtype;
    out.rank = 0;
    return true;
  }
  return allocate_within(dtype, shape, out);
}

bool NumpyHost::allocate_within(core::DType dtype, std::span<const int64_t> shape,
                                runtime::BufferView& out) {
  PyObject* array = new_array(dtype, static_cast<int>(shape.size()), shape.data());
  if (array == nullptr) return false;
  view_into(reinterpret_cast<PyArrayObject*>(array), dtype, out);
  vm::Watch::tell_allocated(out.data, PyArray_NBYTES(reinterpret_cast<PyArrayObject*>(array)));
  return true;
}

bool NumpyHost::may_go_on() {
  if (PyErr_CheckSignals() < 0) return false;
  // Trips may be too short for each to let other threads run.
  if (++trips_ % 1024 == 0) {
    unlock();
    lock();
  }
  return true;
}

}  // namespace dvm::capture
