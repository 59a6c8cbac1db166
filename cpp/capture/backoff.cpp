#include "capture/backoff.h"

#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <ctime>
#include <utility>

namespace dvm::capture {

namespace {

constexpr int64_t kMillisecond = 1'000'000;
// A function whose calls take less is small: what it costs cannot matter before many calls.
constexpr int64_t kSmall = 150'000;
// Captures of up to kLightEvents weigh one.
constexpr int64_t kPatience = 64, kLightEvents = 100;
// The weight of captures that hits have not paid for, where functions are not small.
constexpr int64_t kFreeCaptures = 24;
// What captures may take: so many times a call of the last kWindow calls, less where no call has
// been timed, and in any case kFreeNanos; or a part of all calls' time.
constexpr int64_t kWindow = 50, kWindowCalls = 22, kGuessedCalls = 6, kPartOf = 8;
constexpr int64_t kFreeNanos = 5 * kMillisecond;
// What a capture of a small function may take.
constexpr int64_t kSmallNanos = 50 * kMillisecond;
// What lowering and compiling take: of any path, and of an event. The latter follows what is seen.
constexpr int64_t kCaptureNanos = 300'000, kLeastEventNanos = 20'000, kMostEventNanos = 300'000;
std::atomic<int64_t> event_nanos = 60'000;
// What it takes to read an event that is not lowered.
constexpr int64_t kReadNanos = 1500;
// What an instruction takes longer under the tracer; a line that is not recorded; and a page of
// memory that is touched first, for a recording keeps all arrays.
constexpr int64_t kTracedNanos = 400, kSkippedNanos = 100, kPageNanos = 2000;
// The first as it was seen, of calls of so many: where they do no more than Python itself, it is
// nearly all that a recorded call takes.
constexpr int64_t kManyOpcodes = 200, kLeastTracedNanos = 100;
std::atomic<int64_t> traced_nanos = kTracedNanos;
// What the tracer may take of any call, and what comes behind it of a first one with a long loop.
constexpr int64_t kTracerNanos = 15 * kMillisecond;
constexpr int64_t kStreak = 8, kLongStreak = 16, kMaxRest = int64_t{1} << 14;
// ns for which one clock stands for the other, as long as no switch is told of.
constexpr int64_t kMostRead = 20 * kMillisecond;

int64_t read(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// As text, of three digits at most.
std::string time_text(int64_t nanos) {
  const double micros = static_cast<double>(nanos) / 1000;
  const bool is_short = micros < 1000;
  const double number = is_short ? micros : micros / 1000;
  char text[32];
  std::snprintf(text, sizeof text, number < 100 ? "%.3g" : "%.0f", number);
  return text + std::string(is_short ? " us" : " ms");
}

}  // namespace

// The kernel's clock of a thread takes a system call in which the scheduler settles accounts: a
// slice that is used up ends there, and not at the next tick, so that calls around which it is read
// would be cut in two where other programs want the processor. While nothing has interrupted the
// thread, the wall's clock goes as its own does.
Times Backoff::times() {
  struct Known {
    int64_t switches = -1;
    Times times;
  };
  thread_local Known known;
  const int64_t wall = read(CLOCK_MONOTONIC);  // before the switches are counted
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const int64_t switches = usage.ru_nvcsw + usage.ru_nivcsw;
  if (switches == known.switches && wall - known.times.wall < kMostRead) {
    return {known.times.cpu + wall - known.times.wall, wall};
  }
  const int64_t cpu = read(CLOCK_THREAD_CPUTIME_ID);
  known = {switches, {cpu, read(CLOCK_MONOTONIC)}};
  return {cpu, wall};
}

int64_t Backoff::pages() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

void Backoff::sleep(std::string why) {
  why_ = std::move(why);
  rest_ = next_rest_;
  next_rest_ = std::min(2 * next_rest_, kMaxRest);
  streak_ = kStreak - 1;  // after the rest, one more for nothing suffices
  wasted_ = beside_ = 0;
  retry_ = true;
}

void Backoff::spend(int64_t calls, int64_t nanos) {
  overhead_ += nanos;
  std::erase_if(recent_, [&](const Cost& cost) { return cost.call <= calls - kWindow; });
  recent_.push_back({calls, nanos});
}

void Backoff::defer(int64_t events, int64_t cost) {
  deferred_ = cost;
  watch_ = 1;
  why_ = "long-call\n" + std::to_string(events);
}

// Also the last recorded call must have been one: those before may have had less to do.
bool Backoff::is_small() const {
  return (plain_calls_ == 0 ? traced_ : std::max(mean(), guess_)) < kSmall;
}

int64_t Backoff::budget(int64_t calls) const {
  const int64_t in_the_long_run = calls * mean() / kPartOf - overhead_;
  if (!is_small() && weight_ >= kFreeCaptures) return in_the_long_run;
  const int64_t times = plain_calls_ == 0 ? kGuessedCalls : kWindowCalls;
  int64_t at_once = is_small() ? kSmallNanos : std::max(kFreeNanos, times * mean());
  for (const Cost& cost : recent_) {
    if (cost.call > calls - kWindow) at_once -= cost.nanos;
  }
  return std::max(at_once, in_the_long_run);
}

bool Backoff::may_capture(int64_t calls, int64_t hits, bool at_any_cost) {
  weight_ = std::max<int64_t>(0, weight_ - (hits - hits_));
  if (hits != hits_) streak_ = 0;
  hits_ = hits;
  const bool retry = std::exchange(retry_, false);
  const bool small = at_any_cost || is_small();
  if (!at_any_cost && deferred_ > 0) {
    if (deferred_ > budget(calls)) return false;
  } else if (small && weight_ >= kPatience && !retry) {
    why_ = "captures-not-hit";
    if (streak_ >= kLongStreak) sleep(why_);
    return false;
  } else if (!small && last_cost_ > budget(calls)) {
    why_ = "captures-cost-more";
    return false;
  }
  why_.clear();
  return true;
}

// What the tracer takes is no part of the plain call, but never all of it.
void Backoff::note_traced(const Traced& traced) {
  const int64_t beside = traced.skipped * kSkippedNanos + traced.pages * kPageNanos;
  if (traced.opcodes >= kManyOpcodes) {
    const int64_t each = std::max(kLeastTracedNanos, (traced.nanos - beside) / traced.opcodes);
    if (each < traced_nanos.load(std::memory_order_relaxed)) traced_nanos.store(each);
  }
  const int64_t tracer = traced.opcodes * traced_nanos.load(std::memory_order_relaxed);
  traced_ = traced.nanos;
  guess_ = std::max(traced.nanos - tracer - beside, traced.nanos / 20);
  pace_.recorded(traced.load, guess_, traced.nanos / 20);
}

void Backoff::spend_on(int64_t calls, const Traced& traced) {
  spend(calls, traced.nanos - (plain_calls_ == 0 ? guess_ : std::min(traced.nanos, mean())));
}

// Of a function that nobody has timed yet, as many as no first call is slow for.
int64_t Backoff::most_opcodes(int64_t calls, bool at_any_cost) const {
  if (at_any_cost) return INT64_MAX;
  return std::max(kTracerNanos, plain_calls_ == 0 ? 0 : budget(calls)) / kTracedNanos;
}

void Backoff::stopped_recording(int64_t calls, const Traced& traced) {
  note_traced(traced);
  spend_on(calls, traced);
  defer(traced.events, 2 * traced.opcodes * kTracedNanos);
}

int64_t Backoff::may_lower(int64_t calls, const Traced& traced, bool at_any_cost) {
  note_traced(traced);
  int64_t most = at_any_cost ? INT64_MAX : budget(calls);  // before it pays for the tracer
  if (traced.skipped > 0 && plain_calls_ == 0 && !at_any_cost) most = kTracerNanos;
  spend_on(calls, traced);
  const int64_t cost = kCaptureNanos +
                       traced.distinct * event_nanos.load(std::memory_order_relaxed) +
                       (traced.events - traced.distinct) * kReadNanos;
  if (cost > most) {
    defer(traced.events, cost);
    return 0;
  }
  deferred_ = 0;
  return most;
}

void Backoff::gave_up(int64_t calls, int64_t events, int64_t nanos) {
  spend(calls, nanos);
  defer(events, 2 * nanos);
}

void Backoff::captured(int64_t calls, int64_t hits, const Traced& traced, int64_t nanos,
                       bool compiled) {
  constexpr int64_t kFew = 8, kInertia = 8;
  const int64_t known = event_nanos.load(std::memory_order_relaxed);
  if (compiled && traced.events >= kFew && traced.distinct == traced.events) {
    const int64_t each = std::clamp(nanos / traced.events, kLeastEventNanos, kMostEventNanos);
    event_nanos.store(known + (each - known) / kInertia, std::memory_order_relaxed);
  }
  captures_ += compiled;
  // Where loops were not rolled after all, all events were lowered.
  const int64_t lowered = std::min(traced.events, std::max(traced.distinct, nanos / known));
  const int64_t weight = std::max<int64_t>(1, lowered / kLightEvents);
  weight_ += weight;
  next_rest_ = std::max(next_rest_, 32 * weight);
  spend(calls, nanos);
  last_cost_ = nanos;
  hits_ = hits;
}

bool Backoff::retries_opaque() {
  why_ = "opaque-lost";
  if (++spared_ < next_retry_) return false;
  spared_ = 0;
  next_retry_ = std::min(2 * next_retry_, kMaxRest);
  return true;
}

void Backoff::hits_are_slower() {
  next_rest_ = std::max(next_rest_, std::min(pace_.rest(), kMaxRest));
  sleep((pace_.has_many_turns() ? "turns-slower\n" : "hits-slower\n") +
        time_text(pace_.hit_nanos()) + "\n" + time_text(pace_.plain_nanos()));
}

void Backoff::unserved(int64_t hits) {
  weight_ = std::max<int64_t>(0, weight_ - (hits - hits_));
  if (hits != hits_) {
    streak_ = wasted_ = beside_ = 0;
    next_rest_ = std::max<int64_t>(32, next_rest_ / 2);
    why_.clear();
  }
  hits_ = hits;
  ++streak_;
  ++samples_;
  watch_ = samples_ < 64 || samples_ % 64 == 0 ? 1 : 0;
}

void Backoff::unserved(int64_t hits, int64_t prefix, double load, const Times& plain) {
  unserved(hits);
  pace_.plain(load, plain);
  plain_ += plain.cpu;
  ++plain_calls_;
  wasted_ += prefix;
  beside_ += plain.cpu;
  if (streak_ >= kStreak && wasted_ >= kMillisecond && wasted_ > beside_ / 10) {
    sleep("replayed-for-nothing");
  }
}

}  // namespace dvm::capture
