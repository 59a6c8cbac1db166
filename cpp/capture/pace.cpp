#include "capture/pace.h"

#include <algorithm>
#include <cmath>

namespace dvm::capture {

namespace {

// Loads that differ by less are one: a fifth more elements.
constexpr double kSameLoad = 0.25;
constexpr int64_t kMostInterval = int64_t{1} << 14;
// Calls that run plain, and so many more for each time that hits took longer.
constexpr double kRest = 32;

double ratio(int64_t hit, int64_t plain) {
  return static_cast<double>(hit) / static_cast<double>(std::max<int64_t>(plain, 1));
}

}  // namespace

bool Pace::is_slower(double load, Times times, int64_t turns) {
  is_warm_ = false;
  turns_ = turns;
  const Plain* slowest = nullptr;
  for (const Plain& call : known_) {
    if (call.load < 0 || std::abs(call.load - load) > kSameLoad) continue;
    const bool is_better =
        slowest == nullptr || slowest->is_guess > call.is_guess ||
        (slowest->is_guess == call.is_guess && call.times.cpu > slowest->times.cpu);
    if (is_better) slowest = &call;
  }
  const bool is_long = times.cpu >= kLong || has_many_turns();
  if (slowest == nullptr || !is_long) return wait(), false;
  const bool is_least = slowest->is_guess && has_many_turns();
  const Times plain = is_least ? Times{slowest->least, slowest->least} : slowest->times;
  const double by_cpu = ratio(times.cpu, plain.cpu);
  const double by_both = std::min(by_cpu, ratio(times.wall, plain.wall));
  if (by_cpu < (slowest->is_guess ? kMuchSlower : kSlower)) {
    verdicts_ = 0;
    return wait(), false;
  }
  if (by_both < kSlower) return false;  // something else held it up
  until_ = interval_ = 1;
  least_ = slow_ == 0 ? by_both : std::min(least_, by_both);
  hit_nanos_ = times.cpu;
  plain_nanos_ = plain.cpu;
  const int64_t enough = verdicts_ > 0 ? kHitsAgain : least_ >= kMuchSlower ? kClearHits : kHits;
  if (++slow_ < enough) return false;
  ++verdicts_;
  slow_ = measured_ = 0;
  return true;
}

void Pace::wait() {
  slow_ = 0;
  interval_ = until_ = std::min(2 * interval_, kMostInterval);
}

int64_t Pace::rest() const {
  return static_cast<int64_t>(kRest * (verdicts_ > 1 ? std::min(least_, 1e6) : 1));
}

}  // namespace dvm::capture
