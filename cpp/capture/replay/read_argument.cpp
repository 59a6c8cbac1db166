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
  if (const Library* const library = library_of(object)) {
    if (library->fields.tell(object, declared.dtype, declared.rank)) [[likely]] {
      library->fields.look(object).read(object, declared.dtype, view);
      return true;
    }
    return library->read(object, declared.dtype, declared.rank, view);
  }
  if (declared.rank != 0) return false;
  view.data = slot.bytes;
  view.owner = &slot;
  view.dtype = declared.dtype;
  view.rank = 0;
  for (const Library* library : libraries()) {
    if (library->is_scalar(object)) {
      return library->read_scalar(object, declared.dtype, slot.bytes);
    }
  }
  core::Scalar scalar;
  if (!read_scalar(object, declared.dtype, scalar)) return false;
  // Libraries refuse what does not fit, or warn.
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
