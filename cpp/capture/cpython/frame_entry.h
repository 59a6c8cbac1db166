// An entry of a frame's locals or of its value stack.
#pragma once

#include <cstdint>

#include "capture/py.h"

namespace dvm::capture {

// Since 3.14 its low bits say what it is: a reference that is counted, one that is not, which the
// compiler knows to be held elsewhere, or a number of the interpreter's own. Before, all are
// counted.
class FrameEntry {
 public:
  FrameEntry(const FrameEntry&) = delete;  // C functions of many arguments would take its bits
  // Null: there is nothing, or no object.
  PyObject* object() const {
    return (bits_ & kKind) == kNumber ? nullptr : reinterpret_cast<PyObject*>(bits_ & ~kKind);
  }
  operator PyObject*() const { return object(); }  // NOLINT(google-explicit-constructor)
  bool is_counted() const { return (bits_ & kKind) == kCounted && bits_ != 0; }

 private:
  static constexpr uintptr_t kKind = 3, kCounted = 0, kNumber = 3;
  uintptr_t bits_;
};
static_assert(sizeof(FrameEntry) == sizeof(PyObject*));

}  // namespace dvm::capture
