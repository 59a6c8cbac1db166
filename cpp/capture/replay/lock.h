// The interpreter's lock during long work of a replay. Other threads run meanwhile, as they do
// during long work of NumPy's; so what a path has read before must not be stale when its effects
// are built on it. `self.calls += 1` is a few instructions to the plain program and nobody comes
// between them: a path with such an effect holds the lock to its end, and one that writes into an
// array which its library would write under the lock.
#pragma once

#include "capture/path/path.h"

// Takes the lock again. Where the interpreter is being shut down this never returns: CPython would
// end the thread, through frames that cannot let go of what they hold.
extern "C" void dvm_relock(PyThreadState* state);

namespace dvm::capture {

struct Frame;

// Fills in Path::writes and Path::keeps_lock, of the paths that lead to this one, too.
void note_writes(Path& path);

// Whether other threads may run during what the frame's path is about to do.
bool may_unlock(const Frame& frame);

// Other threads may run while it lives, if `allowed`.
class Unlocked {
 public:
  explicit Unlocked(bool allowed) : state_(allowed ? PyEval_SaveThread() : nullptr) {}
  ~Unlocked() {
    if (state_) dvm_relock(state_);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* const state_;
};

}  // namespace dvm::capture
