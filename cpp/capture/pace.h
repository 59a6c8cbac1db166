// Whether a function's hits take longer than its calls do plain. No call runs one way or the other
// to find that out: it is told by plain calls that came to be, before there was a path, behind a
// miss or while the function rests, and by hits, of which a few are timed.
//
//   - a hit is compared with plain calls that were given about as much (`load`), or else with what
//     the recorded call is guessed to have taken without the tracer, which it must take many times.
//     Where turns are replayed one by one the tracer was nearly all of that, and the least counts;
//   - only hits right behind an untimed one are timed: threads and caches are warm for each;
//   - a hit is slower when it is by the thread's own time and by the wall's. The first does not
//     hold other programs, the second does not leave out what other threads work for a call;
//   - several must say so, one after the other.
// Knows no clock, which is for tests: it is told what was read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dvm::capture {

// What clocks say, in ns: of this thread's own time, and of the wall's.
struct Times {
  int64_t cpu = 0, wall = 0;
};

class Pace {
 public:
  // Hits that a verdict takes; fewer where they took kMuchSlower times as long, or had been found
  // slower before.
  static constexpr int64_t kHits = 6, kClearHits = 4, kHitsAgain = 3;
  static constexpr double kSlower = 1.5, kMuchSlower = 4;
  // ns: below this a clock is no small part of a call, and what hits lose no large sum.
  static constexpr int64_t kLong = 50'000;
  // Turns of a loop that were replayed one by one: such hits are suspect even where they are short.
  static constexpr int64_t kManyTurns = 32;

  // Whether the next plain call, the next hit is to be timed.
  bool wants_plain() const { return measured_ < kHits; }
  bool wants_hit() const { return until_ <= 0 && is_warm_; }

  // load: the logarithm of what the call is given.
  void plain(double load, Times times) {
    add({load, times, false});
    ++measured_;
  }
  void recorded(double load, int64_t guess, int64_t least) {
    add({load, {guess, guess}, true, least});
  }
  void hit() {  // one that was not timed
    is_warm_ = true;
    --until_;
  }
  // A hit that was, with so many turns. True: hits are slower.
  bool is_slower(double load, Times times, int64_t turns);
  // Of that: what the last took, plain calls take, and for how many calls plain ones win back what
  // it takes to try hits again.
  int64_t hit_nanos() const { return hit_nanos_; }
  int64_t plain_nanos() const { return plain_nanos_; }
  int64_t rest() const;
  bool has_many_turns() const { return turns_ >= kManyTurns; }

 private:
  struct Plain {
    double load = -1;
    Times times;
    bool is_guess = false;
    int64_t least = 0;  // that a guess may be
  };

  void add(const Plain& call) { known_[next_++ % known_.size()] = call; }
  void wait();

  std::array<Plain, 8> known_ = {};
  size_t next_ = 0;
  int64_t measured_ = 0;              // plain calls since the last verdict
  int64_t until_ = 1, interval_ = 1;  // hits to the next that is timed
  bool is_warm_ = false;
  int64_t slow_ = 0, verdicts_ = 0;  // one after the other
  double least_ = 0;                 // ratio of the slow ones
  int64_t hit_nanos_ = 0, plain_nanos_ = 0, turns_ = 0;
};

}  // namespace dvm::capture
