// Python warnings before the commit of a replay: raised instead of shown, so that the replay drops
// and the original warns, once and in its own place.
#pragma once

#include "capture/py.h"

namespace dvm::capture {

bool import_warnings();  // false: a Python error is set

// Whether a warning may be an exception: by a filter, by the default, or by a function of the
// user's that shows it.
bool warnings_may_raise();

// Whether the first filter that a RuntimeWarning meets ignores all of them.
bool ignores_runtime_warnings();

// In the child of a fork, behind InFlight::after_fork: the filters are the program's own again, if
// other threads had entered.
void leave_warnings_after_fork();

// While entered, what the filters of `warnings` would show on this thread is raised; what they
// ignore stays ignored, and other threads warn and change the filters as ever.
class RaisingWarnings {
 public:
  RaisingWarnings() = default;
  RaisingWarnings(const RaisingWarnings&) = delete;
  RaisingWarnings& operator=(const RaisingWarnings&) = delete;

  bool enter();  // false: a Python error is set
  void leave();  // keeps a pending Python error

 private:
  Ref filters_;  // the list that ours were put into
};

}  // namespace dvm::capture
