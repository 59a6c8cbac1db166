// What is asked of each scalar, read from the scalar itself: of libraries whose scalars are structs
// that have the element at the same place.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "capture/py.h"
#include "core/ops/dtype.h"

namespace dvm::capture {

struct ScalarFields {
  // Of exactly which class the scalars of a dtype are; null: it has none, or they cannot be read.
  std::array<PyTypeObject*, core::kDTypeCount> types = {};
  uint8_t element = 0;  // in bytes from the beginning

  PyTypeObject* type_of(core::DType dtype) const { return types[static_cast<size_t>(dtype)]; }
  // None: it is no such scalar.
  std::optional<core::DType> dtype_of(PyObject* object) const {
    if (Py_IS_TYPE(object, type_of(core::DType::f64))) return core::DType::f64;  // most of them
    for (size_t d = 0; d < types.size(); ++d) {
      if (Py_IS_TYPE(object, types[d])) return static_cast<core::DType>(d);
    }
    return {};
  }
  // The element's bits, of one of that dtype.
  void read(PyObject* scalar, core::DType dtype, std::byte* bytes) const {
    const auto* const from = reinterpret_cast<const std::byte*>(scalar) + element;
    const auto size = static_cast<size_t>(core::byte_size(dtype));
    if (size == 8) {
      std::memcpy(bytes, from, 8);
    } else {
      std::memcpy(bytes, from, size);
    }
  }
};

}  // namespace dvm::capture
