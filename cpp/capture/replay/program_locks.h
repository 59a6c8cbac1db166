// The locks (threading.Lock, threading.RLock) that the program takes: a replay holds them from
// before it reads what they guard until all that it does is visible.
#pragma once

#include <vector>

#include "capture/py.h"

namespace dvm::capture {

class ProgramLocks {
 public:
  ProgramLocks() = default;
  ProgramLocks(const ProgramLocks&) = delete;
  ProgramLocks& operator=(const ProgramLocks&) = delete;
  ~ProgramLocks() { abandon(); }

  // Never waits: false without a Python error where somebody else has it.
  bool take(PyObject* lock);
  // Lets go of all, the last one first. False: a Python error is set, that of the first which the
  // program has let go of meanwhile.
  bool release();

 private:
  void abandon();  // the same for a replay that ends otherwise, an exception pending or not
  std::vector<Ref> held_;
};

}  // namespace dvm::capture
