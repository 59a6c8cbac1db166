// When calls are captured, and when paths are left alone: ski rental. Who may rent or buy, and does
// not know for how many days, buys when the rents have come to the price: he never pays more than
// twice the least.
//
//   capture  A call that no path takes runs plain until calls have taken, since the last capture,
//            what the next is expected to take; and that takes no longer than they have, or is
//            given up. The first call runs plain and tells what calls take: kAhead of them are
//            advanced, once, for what does not pay within a few more than those hardly pays at
//            all, but no less than nobody notices, and no more than one who waits for it would.
//            Hits count with what they would have taken plain, as far as that is known, but earn
//            no more than kAtOnce: so all captures together take no longer than all calls.
//   price    What the last capture took; of one that was given up, what it would have taken by its
//            events, or twice what it had: that is the least, and so it says. Doubled for each
//            attempt after one that came to nothing, and for each capture that nobody has hit.
//            If a recording saw no end of the call, another gets a kDoubt-th of what calls take.
//   slower   Replays may take longer than the calls do plain. Some are timed and compared with
//            plain calls that were given about as much (call_load.h), which came to be before there
//            was a path or behind a miss; what steps take before a guard fails is lost as well.
//            When kPatience plain calls' time is lost the paths are left alone, until plain calls
//            have taken what capture and loss did together; doubled each time. Paths of which none
//            is compiled are left alone at once.
//
// No call runs one way or the other to find something out, and only a function whose paths have the
// bits of plain calls (path/plain_bits.h) leaves them alone: nothing that a program can see depends
// on a clock. Knows no clock, which is for tests: it is told what was read, in ns.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace dvm::capture {

// What clocks say, in ns: of this thread's own time, and of the wall's.
struct Times {
  int64_t cpu = 0, wall = 0;
};

// What captures have taken, and guesses before any: of an event behind the recording, as often more
// as less, and of an instruction within it, at least. Of a process, but in tests.
struct Rates {
  std::atomic<int64_t> event = 60'000, opcode = 400;
};
inline Rates rates_of_process;

class Policy {
 public:
  explicit Policy(Rates& rates = rates_of_process) : rates_(&rates) {}

  // What nobody notices once, and what one does who waits for it.
  static constexpr int64_t kAtOnce = 5'000'000, kNoticed = 100'000'000;
  static constexpr int64_t kAhead = 10, kDoubt = 8;
  // Hits that take so many times as long as plain calls are no noise; and of those that are so
  // short that what reads the clock counts.
  static constexpr double kSlower = 1.1, kSlowerShort = 2;
  // Plain calls' time that may be lost; no call counts for more than half, for a clock may be
  // wrong.
  static constexpr double kPatience = 4;

  // ---- calls. load: the logarithm of what a call is given.

  // The next call is to run plain although a path may take it.
  bool rests() const { return rests_; }
  void may_rest(bool may) { may_rest_ = may; }
  // Whether a clock is to be read before the next call: for a hit, or replay for nothing.
  bool watches() const { return wants_hit() || is_unserved_; }
  bool wants_hit() const { return until_hit_ <= 0 && may_rest_; }
  void hit() {  // one that was not timed
    --until_hit_;
    is_unserved_ = false;
  }
  // True: hits are slower, and it rests from now on.
  bool hit(double load, Times taken);
  // Whether a call that runs plain is to be timed.
  bool wants_plain() { return --until_plain_ <= 0; }
  // A path took the call that only says why it runs plain, as all others would. To look for one
  // takes time for nothing: not before another could be captured, and half as much was taken again.
  void found_nothing();
  // One that was timed, behind so many ns of replay for nothing.
  void plain(double load, Times taken, int64_t prefix);

  // ---- captures

  // What the next is expected to take, where others know.
  void expect(int64_t nanos) { expected_ = nanos; }
  // May a call that no path takes be captured, when so many were hit?
  bool may_capture(int64_t hits);
  // What that may be expected to take. A little more is no reason to throw away what was done.
  int64_t budget() const { return balance_; }
  // How many instructions may be recorded, and what the events of so many will take.
  int64_t most_opcodes() const;
  int64_t expected_of(int64_t events) const;

  // A call was recorded. events: without those that more turns of a loop repeat.
  struct Traced {
    double load;
    int64_t events, opcodes, nanos;
    int64_t tracer = 0;  // what of that the call would not have taken plain: told by recorded()
  };
  void recorded(Traced& traced);
  // It was not captured, after so many ns, and would take so many.
  enum class Known { about, at_least, no_end };  // no_end: the recording was cut short
  void put_off(int64_t taken, int64_t expected, Known known);
  // It was, in so many ns; `lowered` of these behind the recording.
  void captured(const Traced& traced, int64_t lowered);

  // Why calls run plain at present, as a message of reasons.h; or empty.
  std::string why() const;

 private:
  struct Plain {
    double load = -1;
    Times times;
    bool is_bound = false;  // the recorded call took no more, had it not been recorded
  };

  int64_t price() const;
  int64_t worth_of_hit() const;
  int64_t event_nanos() const { return own_event_ > 0 ? own_event_ : rates_->event.load(); }
  const Plain* slowest_like(double load) const;
  void add(const Plain& call) { known_[next_++ % known_.size()] = call; }
  bool lose(double calls, int64_t nanos);
  void pay(int64_t taken);

  Rates* rates_;
  int64_t own_event_ = 0;    // what an event of this function took; 0: of none yet
  int64_t balance_ = 0;      // what plain calls have taken, and what was advanced
  int64_t expected_ = 0;     // of the next capture
  int unhit_ = 0;            // captures since the last hit
  int64_t hits_ = 0;         // when last asked
  bool waits_ = false;       // a call was not captured for its price
  bool is_put_off_ = false;  // nor was the last that was recorded
  bool is_least_ = false;    // it may take more than is expected
  bool is_doubted_ = false;  // and nobody knows how much

  std::array<Plain, 8> known_ = {};
  size_t next_ = 0;
  int64_t until_plain_ = 0, stands_for_ = 1;  // a timed one, for so many
  int64_t until_hit_ = 1, interval_ = 1;
  double lost_calls_ = 0;
  int64_t lost_ = 0;          // ns
  bool is_unserved_ = false;  // the last call
  bool may_rest_ = true, rests_ = false;
  int64_t rests_until_ = 0;       // the balance is that
  int rested_ = 0;                // times, for hits that were slower
  int64_t slow_ = 0, plain_ = 0;  // a replay that was slower than that
  int64_t usual_ = 0;             // a plain call, about; 0: none was timed
  int64_t hit_ = 0;               // the last hit that was timed
};

}  // namespace dvm::capture
