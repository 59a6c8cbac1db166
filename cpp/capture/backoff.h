// When a function is better left alone: what dvm spends on it must stay a small part of what its
// calls take by themselves. Three rules, of which a hit pays for none:
//
//   opaque    Functions that dvm does not know run once more than the program called them only when
//             a replay that called them is given up. That may happen once per capture, kSpare
//             times besides (calls that raise are such), and once more after every eight hits.
//   captures  Small functions may be captured until the captures that nobody hit weigh kPatience;
//             each hit pays one back. Others may be captured while that costs less than kFreeNanos
//             and a part of what all calls so far would have taken plain. The first is free.
//   prefixes  Steps that are replayed for nothing, call after call, are not replayed.
//
// A function that is put to rest runs as it is for some calls, twice as many each time. What the
// rules decide is written down as a reason (reasons.h), `why`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace dvm::capture {

class Backoff {
 public:
  // Whether the call goes straight to the original.
  bool rests() const { return rest_ != 0; }
  void pass() { --rest_; }

  // Whether a replay may call functions whose results may be lost.
  bool may_lose_opaque(int64_t hits) const { return lost_ < captures_ + kSpare + hits / 8; }
  void lost_opaque() { ++lost_; }

  // Whether clocks are to be read around the next call, which is done where calls are not served.
  bool watches() const { return watch_ != 0; }
  void served() { watch_ = 0; }

  // A call that no path takes: may it be captured?
  bool may_capture(int64_t calls, int64_t hits);
  // What was recorded: is turning it into a path worth it? `events` of it, made in `traced` ns.
  bool may_lower(int64_t calls, int64_t events, int64_t opcodes, int64_t traced);
  // What that took besides; no path if the program raised an exception, or a part of it one that
  // ends in a fallback.
  void captured(int64_t hits, int64_t events, int64_t nanos, bool compiled);
  // Nobody may lose opaque calls: may this call be captured, so that one may?
  bool retries_opaque();

  // A call was not served: `prefix` ns of replay were for nothing, then the original took `plain`.
  void unserved(int64_t hits, int64_t prefix, int64_t plain);
  // The same where no clock was read.
  void unserved(int64_t hits);
  // A path known before the call would not take it, and it was recorded as that very path.
  void never_takes_its_call() { sleep("path-misses-own-call"); }

  const std::string& why() const { return why_; }

  static constexpr int64_t kSpare = 8;

  // CPU time of this thread, which other threads and processes do not lengthen.
  static int64_t now();

 private:
  void sleep(std::string why);
  bool affords(int64_t calls, int64_t cost) const;
  int64_t mean() const { return plain_calls_ == 0 ? 0 : plain_ / plain_calls_; }

  int64_t rest_ = 0, next_rest_ = 32;     // calls that go to the original; of the next time
  int64_t captures_ = 0, lost_ = 0;       // lost_: replays that had called opaque functions
  int64_t spared_ = 0, next_retry_ = 64;  // calls that did not, since the last one might
  int64_t overhead_ = 0, last_cost_ = 0;  // ns that dvm took; of a capture
  int64_t deferred_ = 0;                  // the cost of a path that is not worth it yet
  int64_t weight_ = 0;                    // of captures that nobody hit
  int64_t plain_ = 0, plain_calls_ = 0;   // ns of the original, where it was watched
  int64_t wasted_ = 0, beside_ = 0;       // ns of prefixes, and of the originals behind them
  int64_t streak_ = 0;                    // calls that were not served since the last hit
  int64_t hits_ = 0;                      // of the function, when last asked
  int64_t watch_ = 0, samples_ = 0;
  bool retry_ = false;  // it has rested: one capture is free
  std::string why_;
};

}  // namespace dvm::capture
