// What libraries do about errors of floating-point arithmetic (np.errstate), while a replay runs.
#pragma once

#include "capture/library/library.h"
#include "capture/replay/raising_warnings.h"

namespace dvm::capture {

// While entered, libraries raise where they would have warned, and so does Python's `warnings`, so
// that a replay that is dropped has warned of nothing. What the program told them to ignore stays
// ignored.
class RaisingState {
 public:
  RaisingState() = default;
  RaisingState(const RaisingState&) = delete;
  RaisingState& operator=(const RaisingState&) = delete;
  ~RaisingState() { leave(); }

  bool enter() { return entered_ || set(); }  // false: a Python error is set
  // Whether the program has told a library this, its own state(). False may have a Python error
  // set.
  bool program_has(PyObject* wanted) const;
  void leave() {
    if (context_) reset();
    entered_ = false;
  }

 private:
  bool set();
  void reset();
  bool entered_ = false;
  Ref context_;
  Ref states_;  // the program's, one for each library, while entered
  RaisingWarnings warnings_;
};

}  // namespace dvm::capture
