// Signatures: one word that says what a path may take for granted about an object. Two objects with
// equal words take the same path; sizes and numbers are not in it, they stay symbolic.
//
//   array    library, dtype, rank, layout, the order of the axes in memory and which repeat it
//   foreign  an array dvm has no type for, or a subclass: exact type, elements, rank, layout
//   number   float or int, exact Python types
//   object   identity of a singleton-like immutable (None, bool, str, type)
//   other    exact type: scalars of libraries, containers, instances
#pragma once

#include <string>

#include "capture/library/library.h"
#include "capture/library/signature_word.h"
#include "capture/py.h"

namespace dvm::capture {

Signature signature_of(PyObject* object);

// A signature to compare later objects with. Holds what the word points to, never an array itself.
struct SignatureGuard {
  Signature word = 0;
  Ref type, elements;  // of a foreign array; `type` is also the object or type in the word

  static SignatureGuard of(PyObject* example);
  bool holds(PyObject* object) const {
    if (dense_ != nullptr && dense_->tell_dense(object, dtype_of(word), rank_of(word))) [[likely]]
      return true;
    return signature_of(object) == word && (!elements || same_foreign(object));
  }
  // Of a dense array: whether the object is one of its dtype and rank that lies in its order, too.
  bool admits(PyObject* object) const;
  bool operator==(const SignatureGuard& other) const;

 private:
  bool same_foreign(PyObject* object) const;

  const ArrayFields* dense_ = nullptr;  // of the library, if the word is of an array in C order
};

// For reasons and explain: "float32 array of rank 2, c_contiguous", "object of type list" ...
std::string describe(PyObject* object);
std::string describe(const SignatureGuard& guard);

}  // namespace dvm::capture
