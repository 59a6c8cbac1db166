#include "capture/policy.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace dvm::capture {

namespace {

// So many events take as much as any capture does besides.
constexpr int64_t kFew = 8;

// Loads that differ by less are one: a fifth more elements.
constexpr double kSameLoad = 0.25;
// Of hits, and of replays for nothing, that take less a clock tells little.
constexpr int64_t kShort = Policy::kAtOnce / 100;
// A plain call that is timed stands for those behind it: so many at most, and no more than take
// kShort together, or such a part of what they are to come to.
constexpr int64_t kUnseen = 16, kMostUnseen = 32;

double ratio(int64_t hit, int64_t plain) {
  return static_cast<double>(hit) / static_cast<double>(std::max<int64_t>(plain, 1));
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

// ---- calls

const Policy::Plain* Policy::slowest_like(double load) const {
  const Plain* found = nullptr;
  for (const Plain& call : known_) {
    if (call.load < 0 || std::abs(call.load - load) > kSameLoad) continue;
    const bool is_better = found == nullptr || found->is_bound > call.is_bound ||
                           (found->is_bound == call.is_bound && call.times.cpu > found->times.cpu);
    if (is_better) found = &call;
  }
  return found;
}

bool Policy::hit(double load, Times taken) {
  hit_ = taken.cpu;
  const Plain* plain = slowest_like(load);
  const bool tells = plain != nullptr;
  const double times =
      tells ? std::min(ratio(taken.cpu, plain->times.cpu), ratio(taken.wall, plain->times.wall))
            : 0;
  is_unserved_ = false;
  // One call that was recorded tells less than several that ran plain.
  const double slower = taken.cpu < kShort ? kSlowerShort : kSlower;
  const double usual = tells && plain->is_bound ? 2 * slower : slower;
  if (lose(times - usual, tells ? taken.cpu - plain->times.cpu : 0)) {
    slow_ = taken.cpu;
    plain_ = plain->times.cpu;
    return true;
  }
  interval_ = lost_calls_ > 0 ? 0 : std::max<int64_t>(2 * interval_, 1);
  until_hit_ = interval_;
  return false;
}

bool Policy::lose(double calls, int64_t nanos) {
  lost_calls_ = std::max(0.0, lost_calls_ + std::clamp(calls, -1.0, kPatience / 2));
  lost_ = lost_calls_ == 0 ? 0 : lost_ + nanos;
  if (lost_calls_ < kPatience || !may_rest_) return false;
  rests_ = true;
  balance_ = 0;
  rests_until_ = (expected_ + lost_) << std::min(++rested_, 20);
  return true;
}

void Policy::found_nothing() {
  rests_ = true;
  slow_ = 0;
  rests_until_ = std::max(price(), balance_ + balance_ / 2);
}

void Policy::plain(double load, Times taken, int64_t prefix) {
  if (usual_ == 0) balance_ += std::clamp(kAhead * taken.cpu, kAtOnce, kNoticed);
  usual_ = usual_ == 0 ? std::max<int64_t>(taken.cpu, 1) : usual_ + (taken.cpu - usual_) / 4;
  is_unserved_ = true;
  balance_ += taken.cpu * stands_for_ / (is_doubted_ ? kDoubt : 1);
  until_hit_ = 0;
  interval_ = 1;
  add({load, taken});
  // Clocks tell little of what is short, but that it takes longer than the call itself.
  const bool is_loss = prefix >= std::min(kShort, taken.cpu);
  if (rests_ && balance_ >= rests_until_) {
    rests_ = false;
    lost_calls_ = lost_ = 0;
  } else if (!rests_ && is_loss && lose(ratio(prefix, taken.cpu), prefix)) {
    slow_ = prefix + taken.cpu;
    plain_ = taken.cpu;
  }
  const int64_t owed = (rests_ ? rests_until_ : price()) - balance_;
  const int64_t unseen = std::min(owed / kUnseen, kShort) / std::max<int64_t>(taken.cpu, 1);
  stands_for_ = until_plain_ = std::clamp<int64_t>(unseen, 1, kMostUnseen);
}

// ---- captures

int64_t Policy::price() const { return expected_ << std::min(unhit_, 20); }

// It takes no longer than plain, or paths are left alone.
int64_t Policy::worth_of_hit() const { return std::max(usual_, hit_); }

bool Policy::may_capture(int64_t hits) {
  if (const int64_t more = hits - std::exchange(hits_, hits); more > 0) {
    unhit_ = 0;
    balance_ = std::max(balance_, std::min(kAtOnce, balance_ + more * worth_of_hit()));
  }
  waits_ = usual_ == 0 || balance_ < price();
  return !waits_;
}

int64_t Policy::most_opcodes() const { return balance_ / rates_->opcode; }

int64_t Policy::expected_of(int64_t events) const { return (events + kFew) * event_nanos(); }

// What the tracer takes is no part of the plain call, which took a tenth at most where it does no
// more than Python itself.
void Policy::recorded(Traced& traced) {
  constexpr int64_t kMany = 200;
  if (traced.opcodes >= kMany) {
    rates_->opcode = std::min<int64_t>(rates_->opcode, traced.nanos / traced.opcodes);
  }
  const int64_t most = std::max(traced.nanos / 10, traced.nanos - traced.opcodes * rates_->opcode);
  traced.tracer = traced.nanos - most;
  add({traced.load, {most, most}, true});
}

void Policy::pay(int64_t taken) { balance_ = std::clamp<int64_t>(balance_ - taken, 0, kAtOnce); }

// A second attempt that came to nothing was told too little by the first.
void Policy::put_off(int64_t taken, int64_t expected, Known known) {
  pay(taken);
  is_doubted_ = known == Known::no_end;
  is_least_ = known != Known::about || is_put_off_;
  expected_ = is_put_off_ ? std::max(expected, 2 * expected_) : expected;
  waits_ = is_put_off_ = true;
}

void Policy::captured(const Traced& traced, int64_t lowered) {
  if (lowered > 0) {
    own_event_ = lowered / (traced.events + kFew);
    rates_->event += (own_event_ > rates_->event ? 1 : -1) * rates_->event / 8;
  }
  expected_ = traced.tracer + lowered;
  pay(expected_);
  waits_ = is_put_off_ = is_least_ = is_doubted_ = false;
  ++unhit_;
  until_hit_ = 1;  // the first hit makes what the others find
}

// By plain calls that are left, for nobody knows which calls will be hits.
std::string Policy::why() const {
  if (rests_ && slow_ == 0) return {};  // the paths say it
  if (rests_) return "hits-slower\n" + time_text(slow_) + "\n" + time_text(plain_);
  if (!waits_) return {};
  if (expected_ == 0) return "first-call";
  const std::string costs = '\n' + time_text(price());
  if (usual_ == 0) return (is_least_ ? "tried-untimed" : "waits-untimed") + costs;
  const int64_t owed = std::max<int64_t>(0, price() - balance_) * (is_doubted_ ? kDoubt : 1);
  const int64_t left = 1 + owed / usual_;
  const std::string calls = '\n' + std::to_string(left) + '\n' + time_text(usual_);
  return (is_least_ ? "tried" : "waits") + costs + calls;
}

}  // namespace dvm::capture
