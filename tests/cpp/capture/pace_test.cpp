// Programs of which hits and plain calls take so and so long, by a clock that is worked out.
#include "capture/pace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace dvm::capture {
namespace {

constexpr int64_t kMilli = 1'000'000;

// What a call is given, and what it takes; wall: so much longer by the wall's clock.
struct Call {
  double load = 10;
  int64_t hit = kMilli, plain = kMilli;
  int64_t hit_wall = 0, plain_wall = 0;
  int64_t turns = 0;
};

struct Outcome {
  int64_t hits = 0, timed = 0, rested = 0, verdicts = 0;
};

// A program of which some calls ran plain before there was a path; it rests as Backoff has it.
Outcome run(Pace& pace, int64_t calls, const std::function<Call(int64_t)>& call_of,
            int64_t plain_before = 8) {
  Outcome seen;
  int64_t rest = 0;
  for (int64_t k = -plain_before; k < calls; ++k) {
    const Call call = call_of(k);
    if (k < 0 || rest > 0) {
      seen.rested += rest > 0;
      if (rest > 0) --rest;
      if (pace.wants_plain()) pace.plain(call.load, {call.plain, call.plain + call.plain_wall});
      continue;
    }
    ++seen.hits;
    if (!pace.wants_hit()) {
      pace.hit();
      continue;
    }
    ++seen.timed;
    if (!pace.is_slower(call.load, {call.hit, call.hit + call.hit_wall}, call.turns)) continue;
    ++seen.verdicts;
    rest = pace.rest();
  }
  return seen;
}

TEST(Pace, FindsHitsThatAreSlower) {
  for (const int64_t times : {2, 3, 5, 100}) {
    Pace pace;
    const Outcome seen = run(pace, 1000, [&](int64_t) { return Call{.hit = times * kMilli}; });
    EXPECT_GT(seen.verdicts, 0) << times;
    EXPECT_LT(seen.hits, 200) << times;
    EXPECT_EQ(pace.hit_nanos(), times * kMilli);
    EXPECT_EQ(pace.plain_nanos(), kMilli);
  }
}

TEST(Pace, RestsLongOnlyWhereASecondVerdictConfirmsTheFirst) {
  Pace pace;
  const auto slow = [](int64_t) { return Call{.hit = 100 * kMilli}; };
  EXPECT_EQ(run(pace, 10, slow).verdicts, 1);
  EXPECT_EQ(pace.rest(), 32);
  EXPECT_EQ(run(pace, 10, slow).verdicts, 1);
  EXPECT_EQ(pace.rest(), 3200);
}

TEST(Pace, TimesFewHitsWhereTheyAreNoSlower) {
  Pace pace;
  const Outcome seen = run(pace, 100'000, [](int64_t) { return Call{.hit = kMilli / 2}; });
  EXPECT_EQ(seen.verdicts, 0);
  EXPECT_LT(seen.timed, 40);
}

TEST(Pace, SaysNothingOfLoadsThatNeverRanPlain) {
  Pace pace;
  const auto call = [](int64_t k) {
    return Call{.load = k < 0 ? 3.0 : 12.0, .hit = 100 * kMilli, .plain = k < 0 ? 1000 : kMilli};
  };
  EXPECT_EQ(run(pace, 10'000, call).verdicts, 0);
}

TEST(Pace, AGuessMustBeFarBelow) {
  for (const int64_t times : {2, 3, 5, 100}) {
    Pace pace;
    pace.recorded(10, kMilli, kMilli / 10);
    const Outcome seen = run(
        pace, 50, [&](int64_t) { return Call{.hit = times * kMilli}; }, 0);
    EXPECT_EQ(seen.verdicts > 0, times > 4) << times;
  }
}

TEST(Pace, OfManyTurnsTheLeastGuessCounts) {
  for (const int64_t turns : {0, 100}) {
    Pace pace;
    pace.recorded(10, kMilli, kMilli / 10);
    const auto call = [&](int64_t) { return Call{.hit = kMilli, .turns = turns}; };
    EXPECT_EQ(run(pace, 50, call, 0).verdicts > 0, turns > 0);
  }
}

TEST(Pace, WaitsForHitsThatOtherProgramsHeldUp) {
  Pace pace;
  const auto call = [](int64_t) { return Call{.hit = kMilli, .hit_wall = 20 * kMilli}; };
  EXPECT_EQ(run(pace, 10'000, call).verdicts, 0);
}

TEST(Pace, ShortHitsAreLookedAtForTheirTurnsAlone) {
  for (const int64_t turns : {0, 100}) {
    Pace pace;
    const auto call = [&](int64_t) { return Call{.hit = 30'000, .plain = 3'000, .turns = turns}; };
    EXPECT_EQ(run(pace, 200, call).verdicts > 0, turns > 0);
  }
}

// Hits are no slower, whatever calls are given and whatever else varies.
TEST(Pace, RarelyBlamesHitsThatAreNoSlower) {
  std::mt19937 random(1);
  int64_t blamed = 0, rested = 0;
  constexpr int64_t kPrograms = 500, kCalls = 2000;
  for (int64_t program = 0; program < kPrograms; ++program) {
    std::lognormal_distribution<double> noise(0, 0.02 * static_cast<double>(program % 20));
    std::uniform_real_distribution<double> loads(8, 8 + static_cast<double>(program % 7));
    Pace pace;
    const Outcome seen = run(pace, kCalls, [&](int64_t) {
      const double load = loads(random), nanos = std::exp2(load) * 1000;
      const auto taken = [&] { return static_cast<int64_t>(nanos * noise(random)); };
      return Call{.load = load, .hit = taken(), .plain = taken()};
    });
    blamed += seen.verdicts > 0;
    rested += seen.rested;
  }
  EXPECT_LT(blamed, kPrograms / 20);
  EXPECT_LT(rested, kPrograms * kCalls / 200);
}

}  // namespace
}  // namespace dvm::capture
