#include "capture/replay/read_argument.h"

#include <cmath>
#include <cstring>

namespace dvm::capture {

using runtime::BufferView;

bool read_scalar(PyObject* object, core::DType dtype, core::Scalar& scalar) {
  if (core::is_floating(dtype)) {
    const double value =
        PyFloat_CheckExact(object) ? PyFloat_AS_DOUBLE(object) : PyFloat_AsDouble(object);
    scalar = core::Scalar::of_float(value);
    return value != -1.0 || !PyErr_Occurred();
  }
  if (core::info(dtype).kind == core::Kind::boolean) {
    const int truth = PyObject_IsTrue(object);
    scalar = core::Scalar::of_int(truth);
    return truth >= 0;
  }
  Ref index = Ref::steal(PyNumber_Index(object));
  if (!index) return false;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  scalar = core::Scalar::of_int(value);
  return overflow == 0;
}

bool read_tensor(PyObject* object, const runtime::Argument& declared, ValueSlot& slot,
                 BufferView& view) {
  if (PyArray_Check(object)) {
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    if (PyArray_NDIM(array) != declared.rank || !holds(dtype_of(array), declared.dtype)) {
      return false;
    }
    view_into(array, declared.dtype, view);
    return true;
  }
  if (declared.rank != 0) return false;
  view.data = slot.bytes;
  view.owner = &slot;
  view.dtype = declared.dtype;
  view.rank = 0;
  if (PyArray_IsScalar(object, Generic)) {
    Ref descr = Ref::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromScalar(object)));
    if (descr.get() != reinterpret_cast<PyObject*>(descr_of(declared.dtype))) return false;
    PyArray_ScalarAsCtype(object, slot.bytes);
    return true;
  }
  core::Scalar scalar;
  if (!read_scalar(object, declared.dtype, scalar)) return false;
  // NumPy refuses what does not fit, or warns.
  const core::Scalar held = core::round_to(declared.dtype, scalar);
  if (core::is_floating(declared.dtype)
          ? std::isinf(held.as_float()) != std::isinf(scalar.as_float())
          : held != scalar) {
    return false;
  }
  core::dispatch(declared.dtype, [&]<core::DType D>() {
    const core::Storage<D> value = core::element_of<D>(scalar);
    std::memcpy(slot.bytes, &value, sizeof value);
  });
  return true;
}

}  // namespace dvm::capture
