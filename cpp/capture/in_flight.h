// What is going on in this process: replays of a path, captures, filters that warnings meet. The
// child of a fork has the thread that forked alone, so that what other threads were in the midst of
// is in flight there no more.
#pragma once

#include <cstdint>

namespace dvm::capture {

// How many. The interpreter's lock guards it.
class InFlight {
 public:
  bool any() const { return process_ == present && count_ > 0; }

  // Of the thread that calls it, which ends what it began.
  void begin();
  void end();

  // In the child of a fork, before anything else runs there: all that the thread that forked is not
  // in is over.
  static void after_fork();
  // Another number in each child of a fork.
  static uint64_t process() { return present; }

 private:
  void add(int more);

  static uint64_t present;  // one more in each child
  uint64_t process_ = 0;
  int count_ = 0;
};

class Flight {
 public:
  explicit Flight(InFlight& of) : of_(of) { of_.begin(); }
  ~Flight() { of_.end(); }
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

 private:
  InFlight& of_;
};

}  // namespace dvm::capture
