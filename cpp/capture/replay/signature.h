// Signatures: one word that says what a path may take for granted about an object. Two objects with
// equal words take the same path; sizes and numbers are not in it, they stay symbolic.
//
//   array    dtype, rank, layout, the order of the axes in memory and which repeat it
//   foreign  an array dvm has no type for, or a subclass: exact type, descriptor, rank, layout
//   number   float or int, exact Python types
//   object   identity of a singleton-like immutable (None, bool, str, type)
//   other    exact type: NumPy scalars, containers, instances
#pragma once

#include <cstdint>
#include <string>

#include "capture/numpy/layout.h"

namespace dvm::capture {

using Signature = uint64_t;

enum class Argument : uint8_t { array, foreign, floating, integer, object, other };

Signature signature_of(PyObject* object);
inline Argument argument_of(Signature s) { return static_cast<Argument>(s & 0xff); }
// Of an array:
inline core::DType dtype_of(Signature s) { return static_cast<core::DType>(s >> 8 & 0xff); }
inline int rank_of(Signature s) { return static_cast<int>(s >> 16 & 0xf); }
inline Layout layout_of(Signature s) { return static_cast<Layout>(s >> 20 & 0xf); }

// A signature to compare later objects with. Holds what the word points to, never an array itself.
struct SignatureGuard {
  Signature word = 0;
  Ref type, descr;  // of a foreign array; `type` is also the object or type in the word

  static SignatureGuard of(PyObject* example);
  bool holds(PyObject* object) const {
    return signature_of(object) == word && (!descr || same_foreign(object));
  }
  // Of a dense array: whether the object is one of its dtype and rank that lies in its order, too.
  bool admits(PyObject* object) const;
  bool operator==(const SignatureGuard& other) const;

 private:
  bool same_foreign(PyObject* object) const;
};

// For reasons and explain: "float32 array of rank 2, c_contiguous", "object of type list" ...
std::string describe(PyObject* object);
std::string describe(const SignatureGuard& guard);

}  // namespace dvm::capture
