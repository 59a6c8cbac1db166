// Between two turns of a loop, or two activations of a recursive function: what other threads want.
#pragma once

#include <chrono>
#include <cstdint>

#include "capture/cpython/interruption.h"
#include "capture/replay/lock.h"

namespace dvm::capture {

// Lets other threads have the interpreter's lock between two turns, as Python does between two
// instructions: once they ask. Letting go at times of its own would wake them before they have
// waited long enough to ask, and take the lock again before they have it. A path that holds the
// lock to its end must not: it is given up once the others have waited for long, and the original
// lets them run.
class OtherThreads {
 public:
  static constexpr int64_t kUnbroken = 8;  // turns between two looks at them

  explicit OtherThreads(bool holds_lock) : holds_lock_(holds_lock) {}

  // False: give up.
  bool let_run(bool holds_lock) {
    if (!dvm_is_lock_wanted()) return true;
    if (holds_lock_ || holds_lock) return Clock::now() - since_ < kLongest;
    const Unlocked unlocked(true);
    since_ = Clock::now();
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kLongest{1000};

  const bool holds_lock_;
  Clock::time_point since_ = Clock::now();
};

}  // namespace dvm::capture
