// When a function is better left alone: what dvm spends on it must stay a small part of what its
// calls take by themselves, and hits must not take longer than those. Four rules, of which a hit
// pays for none but the last:
//
//   opaque    Functions that dvm does not know run once more than the program called them only when
//             a replay that called them is given up. That may happen once per capture, kSpare
//             times besides (calls that raise are such), and once more after every eight hits.
//   captures  What a capture may take is a part of what the last kWindow calls would have taken
//             plain, as long as hits pay for most of the captures, or else a smaller part of all
//             calls so far: a capture that would take longer waits until that has grown, and one
//             that turns out to, or whose recording does, is given up. Calls so short that this
//             does not matter are captured until the captures that nobody hit weigh kPatience; each
//             hit pays one back.
//   prefixes  Steps that are replayed for nothing, call after call, are not replayed.
//   slower    Hits may take longer than the calls would plain: turns of a loop that are replayed
//             one by one, a large array that is copied for a few elements (pace.h).
//
// A function that is put to rest is captured no more for some calls, twice as many each time, and
// runs as it is where its paths have the bits that plain calls have (path/plain_bits.h): nothing
// that a program can see depends on a clock. What the rules decide is written down as a reason
// (reasons.h), `why`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "capture/pace.h"

namespace dvm::capture {

class Backoff {
 public:
  bool rests() const { return rest_ != 0; }
  void pass() { --rest_; }

  // Whether a replay may call functions whose results may be lost.
  bool may_lose_opaque(int64_t hits) const { return lost_ < captures_ + kSpare + hits / 8; }
  void lost_opaque() { ++lost_; }

  // Whether clocks are to be read around the next call, which is done where calls are not served.
  bool watches() const { return watch_ != 0; }
  void served() { watch_ = 0; }

  // A call that no path takes: may it be captured? At any cost: whatever that takes.
  bool may_capture(int64_t calls, int64_t hits, bool at_any_cost);
  // How many instructions of the call may be recorded: a longer one ends under no tracer.
  int64_t most_opcodes(int64_t calls, bool at_any_cost) const;
  // A call was recorded: the ns that turning it into a path may take, or 0 where that would take
  // longer.
  // distinct: events without those that more turns of a loop repeat, for these are not lowered.
  struct Traced {
    double load;  // of the call (call_load.h)
    int64_t events, distinct, opcodes;
    int64_t skipped;       // trace events of turns that were not recorded
    int64_t nanos, pages;  // pages of memory touched for the first time
  };
  int64_t may_lower(int64_t calls, const Traced& traced, bool at_any_cost);
  // It had more instructions than may be recorded.
  void stopped_recording(int64_t calls, const Traced& traced);
  // It took longer, and was given up after so many ns.
  void gave_up(int64_t calls, int64_t events, int64_t nanos);
  // What that took besides; no path if the program raised an exception, or a part of it one that
  // ends in a fallback.
  void captured(int64_t calls, int64_t hits, const Traced& traced, int64_t nanos, bool compiled);
  // Nobody may lose opaque calls: may this call be captured, so that one may?
  bool retries_opaque();

  // A call was not served: `prefix` ns of replay were for nothing, then the original took `plain`.
  void unserved(int64_t hits, int64_t prefix, double load, const Times& plain);
  // The same where no clock was read.
  void unserved(int64_t hits);
  // Is told of calls that ran plain, and of hits.
  Pace& pace() { return pace_; }
  // Hits are slower than plain calls, whose bits they have.
  void hits_are_slower();

  // A path known before the call would not take it, and it was recorded as that very path.
  void never_takes_its_call() { sleep("path-misses-own-call"); }
  // Why a single call ran as it is.
  void note(std::string why) { why_ = std::move(why); }

  const std::string& why() const { return why_; }

  static constexpr int64_t kSpare = 8;

  // CPU time of this thread, which other threads and processes do not lengthen; and with the
  // wall's.
  static int64_t now() { return times().cpu; }
  static Times times();
  // Pages of memory that this thread has touched for the first time so far.
  static int64_t pages();

 private:
  // ns taken at a call.
  struct Cost {
    int64_t call, nanos;
  };

  void sleep(std::string why);
  void spend(int64_t calls, int64_t nanos);
  void note_traced(const Traced& traced);
  void spend_on(int64_t calls, const Traced& traced);
  void defer(int64_t events, int64_t cost);
  // The ns that a capture may take now.
  int64_t budget(int64_t calls) const;
  int64_t mean() const { return plain_calls_ == 0 ? guess_ : plain_ / plain_calls_; }
  bool is_small() const;

  int64_t rest_ = 0, next_rest_ = 32;     // calls that go to the original; of the next time
  int64_t captures_ = 0, lost_ = 0;       // lost_: replays that had called opaque functions
  int64_t spared_ = 0, next_retry_ = 64;  // calls that did not, since the last one might
  int64_t overhead_ = 0, last_cost_ = 0;  // ns that dvm took; of a capture
  std::vector<Cost> recent_;              // of the last kWindow calls
  int64_t deferred_ = 0;                  // the cost of a path that is not worth it yet
  int64_t weight_ = 0;                    // of captures that nobody hit
  int64_t plain_ = 0, plain_calls_ = 0;   // ns of the original, where it was watched
  int64_t traced_ = 0, guess_ = 0;        // of the last recorded call: with the tracer, without
  int64_t wasted_ = 0, beside_ = 0;       // ns of prefixes, and of the originals behind them
  int64_t streak_ = 0;                    // calls that were not served since the last hit
  int64_t hits_ = 0;                      // of the function, when last asked
  int64_t watch_ = 0, samples_ = 0;
  bool retry_ = false;  // it has rested: one capture is free
  Pace pace_;
  std::string why_;
};

}  // namespace dvm::capture
