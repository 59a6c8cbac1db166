// NumPy's error state (np.geterr), which lives in a context variable.
#pragma once

#include "capture/replay/raising_warnings.h"

namespace dvm::capture {

bool import_errstate();  // false: a Python error is set

// While entered, NumPy raises where it would have warned, and so does Python's `warnings`, so that
// a replay that is dropped has warned of nothing. What the program told them to ignore stays
// ignored.
class RaisingErrstate {
 public:
  RaisingErrstate() = default;
  RaisingErrstate(const RaisingErrstate&) = delete;
  RaisingErrstate& operator=(const RaisingErrstate&) = delete;
  ~RaisingErrstate() { leave(); }

  bool enter() { return entered_ || set(); }  // false: a Python error is set
  // Whether the program's own np.geterr() is `modes`: four strings, for divide, over, under and
  // invalid. An unchanged state costs one look at the context variable. False may have a Python
  // error set.
  bool program_has(PyObject* modes) const;
  void leave() {
    if (context_) reset();
    entered_ = false;
  }

 private:
  bool set();
  void reset();
  bool entered_ = false;
  Ref context_;
  Ref modes_;  // the program's, while entered
  RaisingWarnings warnings_;
};

}  // namespace dvm::capture
