#include "capture/comparison.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace dvm::capture {

namespace {

// Calls of a comparison; one that has not found its pairs by then is given up.
constexpr int64_t kMostTries = 64;
// Loads that differ by less are one: a fifth more elements.
constexpr double kSameLoad = 0.25;
// Between two comparisons: so many times as long as before, from kInterval hits on, and so many
// times as many hits as the plain call took of them.
constexpr int64_t kGrowth = 8, kInterval = 512, kMostInterval = int64_t{1} << 14;
constexpr double kHitsPerCost = 128;
// Calls that run plain, and so many more for each time that hits took longer.
constexpr double kRest = 32;
// A hit so many times faster than what is known of plain calls is not compared before kSurelyHits.
constexpr int64_t kSurely = 8, kSurelyHits = 1024;

double ratio_of(int64_t hit, int64_t plain) {
  return static_cast<double>(hit) / static_cast<double>(std::max<int64_t>(plain, 1));
}

}  // namespace

void Comparison::begin() {
  state_ = State::pairs;
  tries_ = 0;
  count_ = 0;
  open_ = {};
}

void Comparison::begin_with_turns() {
  met_turns_ = true;
  begin();
}

void Comparison::wait(int64_t hits) {
  state_ = State::waits;
  until_ = interval_ = hits;
}

Comparison::Kind Comparison::next(double load) {
  if (!std::exchange(behind_hit_, false)) return Kind::as_it_is;
  if (state_ == State::looks) return Kind::hit;
  if (flip()) return Kind::as_it_is;
  if (++tries_ > kMostTries) {
    wait(std::min(kGrowth * std::max(interval_, kInterval / kGrowth), kMostInterval));
    return Kind::as_it_is;
  }
  if (partner(load, Kind::hit) != nullptr) return Kind::plain;
  if (partner(load, Kind::plain) != nullptr) return Kind::hit;
  return flip() ? Kind::plain : Kind::hit;
}

Comparison::Verdict Comparison::timed_hit(double load, Times times, int64_t turns, int64_t hits,
                                          int64_t plain) {
  behind_hit_ = true;
  turns_ = turns;
  if (state_ == State::pairs) return add({load, times, Kind::hit});
  if (state_ != State::looks) return Verdict::open;
  const bool suspect = plain > 0 && times.cpu >= static_cast<int64_t>(kMuchSlower) * plain;
  const bool fine = plain > 0 && kSurely * times.cpu <= plain && hits < kSurelyHits;
  if (times.cpu < kLong || fine || (hits < kFewHits && !suspect)) {
    looked_long_ = false;
    wait(std::min(2 * interval_, kMostInterval));
  } else if (std::exchange(looked_long_, true)) {
    looked_long_ = false;
    begin();
  }  // else one more is looked at: this one may have been cold, or held up
  return Verdict::open;
}

Comparison::Verdict Comparison::timed_plain(double load, Times times) {
  if (state_ != State::pairs) return Verdict::open;
  return add({load, times, Kind::plain});
}

Comparison::Sample* Comparison::partner(double load, Kind kind) {
  const auto found = std::ranges::find_if(open_, [&](const Sample& sample) {
    return sample.kind == kind && std::abs(sample.load - load) <= kSameLoad;
  });
  return found == open_.end() ? nullptr : &*found;
}

Comparison::Verdict Comparison::add(const Sample& sample) {
  const bool is_hit = sample.kind == Kind::hit;
  Sample* const other = partner(sample.load, is_hit ? Kind::plain : Kind::hit);
  if (other == nullptr) {
    open_[oldest_] = sample;
    oldest_ = (oldest_ + 1) % open_.size();
    return Verdict::open;
  }
  const Sample taken = std::exchange(*other, Sample{});
  return compare(is_hit ? sample.times : taken.times, is_hit ? taken.times : sample.times);
}

Comparison::Verdict Comparison::compare(const Times& hit, const Times& plain) {
  const double by_cpu = ratio_of(hit.cpu, plain.cpu), by_wall = ratio_of(hit.wall, plain.wall);
  if (by_cpu < kSlower) {
    slower_ = 0;
    const double longer = std::min(kHitsPerCost / by_cpu, 1e9);
    const int64_t next =
        std::min(kGrowth * std::max(interval_, kInterval / kGrowth), kMostInterval);
    wait(std::max(next, static_cast<int64_t>(longer)));
    return Verdict::faster;
  }
  // Short ones, and those that something else held up, tell nothing.
  if (by_wall < kSlower || (hit.cpu < kLong && !has_many_turns())) return Verdict::open;
  const double ratio = std::min(by_cpu, by_wall);
  least_ = count_ == 0 ? ratio : std::min(least_, ratio);
  pairs_[count_++] = {hit.cpu, plain.cpu};
  const auto enough = slower_ > 0 ? kPairsAgain : least_ >= kMuchSlower ? kClearPairs : kPairs;
  if (std::cmp_less(count_, enough)) return Verdict::open;
  ++slower_;
  return Verdict::slower;
}

int64_t Comparison::rest() const {
  const double times = slower_ > 1 ? std::min(least_, 1e6) : 1;
  return static_cast<int64_t>(kRest * times);
}

int64_t Comparison::median(int64_t Pair::*part) const {
  std::vector<int64_t> all;
  for (size_t i = 0; i < count_; ++i) all.push_back(pairs_[i].*part);
  const auto middle = all.begin() + std::ssize(all) / 2;
  std::ranges::nth_element(all, middle);
  return *middle;
}

// Any fair sequence will do that programs do not have themselves.
bool Comparison::flip() {
  coin_ ^= coin_ << 13;
  coin_ ^= coin_ >> 7;
  coin_ ^= coin_ << 17;
  return (coin_ & 1) != 0;
}

}  // namespace dvm::capture
