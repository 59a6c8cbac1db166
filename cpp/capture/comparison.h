// Whether a function's hits take longer than its calls would plain, found out by trying: once in a
// while some calls that a path would take are left to the original, and hits beside them are timed.
//
// Calls differ, and so do moments, so that nothing is concluded from sums:
//   - a hit is compared with a plain call that was given about as much (`load`);
//   - which calls are timed, and which of two is the plain one, is drawn: calls may take turns, and
//     differ in what nobody sees;
//   - only calls right behind an untimed hit are timed: threads and caches are warm for each;
//   - a hit is slower when it is by the thread's own time and by the wall's. The first does not
//     hold other programs, the second does not leave out what other threads work for a call;
//   - all pairs must say so. The first that does not ends the comparison: where hits are worth
//     their while, that is one plain call in some hundreds of hits, then in thousands;
//   - the first verdict has the function rest for few calls. Only one that a second comparison
//     confirms may have it rest for long.
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

class Comparison {
 public:
  enum class Kind : uint8_t { as_it_is, hit, plain };
  enum class Verdict : uint8_t { open, faster, slower };

  // Pairs that a verdict takes; fewer where hits took kMuchSlower times as long, or had been found
  // slower before.
  static constexpr int64_t kPairs = 6, kClearPairs = 4, kPairsAgain = 3;
  static constexpr double kSlower = 1.5, kMuchSlower = 4;
  // ns: below this a clock is no small part of a call, and what hits lose no large sum.
  static constexpr int64_t kLong = 50'000;
  // Turns of a loop that were replayed one by one: such hits are suspect from the first on.
  static constexpr int64_t kManyTurns = 32;
  // Hits before those are compared of which nothing is known.
  static constexpr int64_t kFewHits = 32;

  // Whether the next call is to be asked about.
  bool is_on() const { return state_ != State::waits; }
  // What becomes of it. load: the logarithm of what it is given.
  Kind next(double load);

  // A hit that was not timed, with so many turns replayed.
  void hit(int64_t turns) {
    behind_hit_ = true;
    if (turns >= kManyTurns && !met_turns_) return begin_with_turns();
    if (state_ == State::waits && --until_ <= 0) state_ = State::looks;
  }
  // Calls that next() had timed. hits: of the function so far; plain: what a plain call is known
  // to take, or 0.
  Verdict timed_hit(double load, Times times, int64_t turns, int64_t hits, int64_t plain);
  Verdict timed_plain(double load, Times times);

  // Once more, for the function has rested since it was found slower.
  void again() { begin(); }

  // Of the pairs behind the last verdict `slower`: medians, and the least ratio.
  int64_t hit_nanos() const { return median(&Pair::hit); }
  int64_t plain_nanos() const { return median(&Pair::plain); }
  double ratio() const { return least_; }
  // Calls that should run plain then: of hits that took so many times longer, what trying them
  // again costs is a small part.
  int64_t rest() const;
  bool has_many_turns() const { return turns_ >= kManyTurns; }

 private:
  enum class State : uint8_t { waits, looks, pairs };
  struct Sample {
    double load = 0;
    Times times;
    Kind kind = Kind::as_it_is;  // that: none
  };
  struct Pair {
    int64_t hit = 0, plain = 0;  // ns
  };

  void begin();
  void begin_with_turns();
  void wait(int64_t hits);
  Sample* partner(double load, Kind kind);
  Verdict add(const Sample& sample);
  Verdict compare(const Times& hit, const Times& plain);
  int64_t median(int64_t Pair::*part) const;
  bool flip();

  State state_ = State::waits;
  bool behind_hit_ = false, met_turns_ = false;
  bool looked_long_ = false;          // the last hit that was looked at
  int64_t slower_ = 0;                // verdicts one after the other
  int64_t until_ = 2, interval_ = 2;  // hits to the next look
  int64_t tries_ = 0;
  std::array<Sample, 4> open_ = {};  // without a partner
  size_t oldest_ = 0;
  std::array<Pair, kPairs> pairs_ = {};
  size_t count_ = 0;  // of them
  double least_ = 0;
  int64_t turns_ = 0;
  uint64_t coin_ = 0x9e3779b97f4a7c15;
};

}  // namespace dvm::capture
