// Signatures: what the guard tree compares, one word per argument. Two arguments with equal words
// take the same path; sizes and numbers are not in it, they stay symbolic.
//
//   array    dtype, rank, layout class
//   number   float or int, exact Python types
//   object   identity of a singleton-like immutable (None, bool, str, type): the path keeps it
//   alive
#pragma once

#include <cstdint>
#include <string>

#include "capture/numpy_api.h"

namespace dvm::capture {

using Signature = uint64_t;

enum class Argument : uint8_t { unsupported, array, floating, integer, object };

// How a memory order generalises over sizes: c_contiguous arrays stay so for every size of the
// same class; ordered ones have strides that do not grow inwards; others may be transposed.
enum class Layout : uint8_t { c_contiguous, ordered, other };

Layout layout_of(PyArrayObject* array);
Signature signature_of(PyObject* object);
inline Argument argument_of(Signature s) { return static_cast<Argument>(s & 0xff); }
inline core::DType dtype_of(Signature s) { return static_cast<core::DType>(s >> 8 & 0xff); }

// For reasons and explain: "float32 array of rank 2, C-contiguous", "subclass MaskedArray" ...
std::string describe(PyObject* object);

}  // namespace dvm::capture
