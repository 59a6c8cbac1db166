// Between two turns of a loop, or two activations of a recursive function: what other threads want.
#pragma once

#include <chrono>
#include <cstdint>

#include "capture/replay/lock.h"

namespace dvm::capture {

// Lets other threads have the interpreter's lock between two turns about as often as Python does
// between two instructions. A path that holds the lock to its end must not: it is given up once the
// others have waited for long, and the original lets them run.
class OtherThreads {
 public:
  static constexpr int64_t kUnbroken = 8;  // turns between two looks at them

  explicit OtherThreads(bool holds_lock) : holds_lock_(holds_lock) {}

  // False: give up.
  bool let_run(bool holds_lock) {
    const auto now = Clock::now();
    if (holds_lock_ || holds_lock) return now - since_ < kLongest || !are_there();
    if (now - since_ < kSwitchInterval) return true;
    since_ = now;
    const Unlocked unlocked(true);
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kSwitchInterval{5}, kLongest{1000};

  static bool are_there() {
    return PyThreadState_Next(PyInterpreterState_ThreadHead(PyInterpreterState_Get())) != nullptr;
  }

  const bool holds_lock_;
  Clock::time_point since_ = Clock::now();
};

}  // namespace dvm::capture
