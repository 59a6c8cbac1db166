#include "capture/backoff.h"

#include <ctime>
#include <utility>

namespace dvm::capture {

namespace {

constexpr int64_t kMillisecond = 1'000'000;
// A function whose calls take less is small: what it costs cannot matter before many calls.
constexpr int64_t kSmall = 150'000;
// Captures of up to kLightEvents weigh one.
constexpr int64_t kPatience = 64, kLightEvents = 100;
// The weight of captures that are free for functions that are not small.
constexpr int64_t kFreeCaptures = 24;
// What a function may cost whatever its calls take, and which part of their time besides.
constexpr int64_t kFreeNanos = 5 * kMillisecond;
constexpr int64_t kPartOf = 5, kPart = 2;
// What lowering and compiling take, from many paths: the first guess of a capture's cost.
constexpr int64_t kCaptureNanos = 300'000, kEventNanos = 50'000;
// A first capture is free up to so many events.
constexpr int64_t kFreeEvents = 2'000;
// What an instruction takes longer under the tracer.
constexpr int64_t kTracedNanos = 400;
constexpr int64_t kStreak = 8, kLongStreak = 16, kMaxRest = int64_t{1} << 14;

}  // namespace

int64_t Backoff::now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void Backoff::sleep(std::string why) {
  why_ = std::move(why);
  rest_ = next_rest_;
  next_rest_ = std::min(2 * next_rest_, kMaxRest);
  streak_ = kStreak - 1;  // after the rest, one more for nothing suffices
  wasted_ = beside_ = 0;
  retry_ = true;
}

bool Backoff::affords(int64_t calls, int64_t cost) const {
  return overhead_ + cost <= kFreeNanos + calls * mean() / kPartOf * kPart;
}

bool Backoff::may_capture(int64_t calls, int64_t hits) {
  weight_ = std::max<int64_t>(0, weight_ - (hits - hits_));
  if (hits != hits_) streak_ = 0;
  hits_ = hits;
  if (deferred_ > 0) {
    if (!affords(calls, deferred_)) return false;
    why_.clear();
    return true;
  }
  if (last_cost_ == 0) return true;
  if (mean() >= kSmall) {
    if (weight_ < kFreeCaptures || affords(calls, last_cost_)) {
      why_.clear();
      return true;
    }
    why_ = "captures-cost-more";
    return false;
  }
  if (weight_ < kPatience || std::exchange(retry_, false)) {
    why_.clear();
    return true;
  }
  why_ = "captures-not-hit";
  if (streak_ >= kLongStreak) sleep(why_);
  return false;
}

bool Backoff::may_lower(int64_t calls, int64_t events, int64_t opcodes, int64_t traced) {
  // What the tracer takes is no part of the plain call, but never all of it.
  const int64_t plain = std::max(traced - opcodes * kTracedNanos, traced / 20);
  plain_ += plain;
  ++plain_calls_;
  overhead_ += traced - plain;
  const int64_t cost = kCaptureNanos + events * kEventNanos;
  if (events <= kFreeEvents || affords(calls, cost)) {
    deferred_ = 0;
    return true;
  }
  deferred_ = cost;
  why_ = "long-recording\n" + std::to_string(events);
  return false;
}

void Backoff::captured(int64_t hits, int64_t events, int64_t nanos, bool compiled) {
  captures_ += compiled;
  weight_ += std::max<int64_t>(1, events / kLightEvents);
  next_rest_ = std::max(next_rest_, 32 * std::max<int64_t>(1, events / kLightEvents));
  overhead_ += nanos;
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

void Backoff::unserved(int64_t hits, int64_t prefix, int64_t plain) {
  unserved(hits);
  plain_ += plain;
  ++plain_calls_;
  wasted_ += prefix;
  beside_ += plain;
  if (streak_ >= kStreak && wasted_ >= kMillisecond && wasted_ > beside_ / 10) {
    sleep("replayed-for-nothing");
  }
}

}  // namespace dvm::capture
