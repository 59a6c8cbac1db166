#include "capture/numpy_host.h"

namespace dvm::capture {

PyObject* array_of(const runtime::BufferView& buffer) {
  auto* owner = static_cast<PyObject*>(buffer.owner);
  auto* array = reinterpret_cast<PyArrayObject*>(owner);
  const runtime::BufferView whole = view_of(array, buffer.dtype);
  bool same = whole.data == buffer.data && whole.rank == buffer.rank;
  for (int i = 0; same && i < buffer.rank; ++i) {
    same = whole.shape[i] == buffer.shape[i] && whole.strides[i] == buffer.strides[i];
  }
  if (same) return Py_NewRef(owner);
  npy_intp shape[core::kMaxRank], strides[core::kMaxRank];
  for (int i = 0; i < buffer.rank; ++i) {
    shape[i] = buffer.shape[i];
    strides[i] = buffer.strides[i];
  }
  PyObject* view = PyArray_New(&PyArray_Type, buffer.rank, shape, type_number(buffer.dtype),
                               strides, buffer.data, 0, NPY_ARRAY_WRITEABLE, nullptr);
  // SetBaseObject steals the reference to the owner, also when it fails.
  if (view && PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(view), Py_NewRef(owner)) < 0) {
    Py_CLEAR(view);
  }
  return view;
}

bool NumpyHost::allocate(core::DType dtype, std::span<const int64_t> shape,
                         runtime::BufferView& out) {
  npy_intp sizes[core::kMaxRank];
  for (size_t i = 0; i < shape.size(); ++i) sizes[i] = shape[i];
  PyObject* array = PyArray_SimpleNew(static_cast<int>(shape.size()), sizes, type_number(dtype));
  if (array == nullptr) return false;
  out = view_of(reinterpret_cast<PyArrayObject*>(array), dtype);
  return true;
}

bool NumpyHost::call(int callee, std::span<const runtime::BufferView> args,
                     runtime::BufferView& result) {
  constexpr size_t kMaxCallArguments = 16;
  DVM_CHECK(args.size() <= kMaxCallArguments, "host call with too many arguments");
  Ref arrays[kMaxCallArguments];
  PyObject* borrowed[kMaxCallArguments];
  for (size_t i = 0; i < args.size(); ++i) {
    arrays[i] = Ref::steal(array_of(args[i]));
    if (!arrays[i]) return false;
    borrowed[i] = arrays[i].get();
  }
  Ref value = Ref::steal(PyObject_Vectorcall(callees_[static_cast<size_t>(callee)].get(), borrowed,
                                             args.size(), nullptr));
  if (!value) return false;
  // A NumPy scalar (the product of two vectors, say) is a rank-0 array to the Plan.
  Ref array = Ref::steal(PyArray_FROM_O(value.get()));
  if (!array) return false;
  auto* as_array = reinterpret_cast<PyArrayObject*>(array.get());
  const auto dtype = dtype_of(as_array);
  if (!dtype || PyArray_NDIM(as_array) > core::kMaxRank) {
    PyErr_Format(PyExc_TypeError, "a host function returned %R, which dvm cannot hold",
                 reinterpret_cast<PyObject*>(Py_TYPE(value.get())));
    return false;
  }
  result = view_of(as_array, *dtype);
  array.release();
  return true;
}

}  // namespace dvm::capture
