// Programs of which calls and captures take so and so long, by a clock that is worked out.
#include "capture/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <vector>

namespace dvm::capture {
namespace {

constexpr int64_t kMilli = 1'000'000;

// What a call is given and takes; wall: so much longer by the wall's clock. A call of a way that
// was not captured is a miss, behind `prefix` of replay.
struct Call {
  double load = 10;
  int64_t hit = kMilli, plain = kMilli;
  int64_t hit_wall = 0, prefix = 0;
  int64_t way = 0;
  bool refused = false;  // what captures of its way come to
};

// What a capture takes: recording and what is behind it.
struct Capture {
  int64_t events = 1000, traced = kMilli, lowered = 50 * kMilli;
};

struct Outcome {
  int64_t hits = 0, timed = 0, rested = 0, verdicts = 0, captures = 0, attempts = 0;
  int64_t looks = 0, timed_plain = 0;  // at paths that were refused; plain calls
  int64_t plain = 0, taken = 0;        // ns, were all calls plain; as it was
  int64_t before = 0;  // ns of plain calls until the first capture that was completed
};

// As CompiledFunction has it.
Outcome run(Policy& policy, int64_t calls, const std::function<Call(int64_t)>& call_of,
            const Capture& capture = {}) {
  Outcome seen;
  std::vector<int64_t> known, refused;
  for (int64_t k = 0; k < calls; ++k) {
    const Call call = call_of(k);
    seen.plain += call.plain;
    const auto plain = [&](int64_t prefix) {
      seen.taken += call.plain + prefix;
      if (seen.captures == 0) seen.before += call.plain;
      if (!policy.wants_plain()) return;
      ++seen.timed_plain;
      policy.plain(call.load, {call.plain, call.plain}, prefix);
    };
    const auto is_in = [&](const auto& ways) {
      return std::ranges::find(ways, call.way) != ways.end();
    };
    if (policy.rests()) {
      ++seen.rested;
      plain(0);
    } else if (is_in(refused)) {
      ++seen.looks;
      if (known.empty()) policy.found_nothing();
      plain(call.prefix);
    } else if (is_in(known)) {
      ++seen.hits;
      seen.taken += call.hit;
      if (!policy.wants_hit()) {
        policy.hit();
        continue;
      }
      ++seen.timed;
      seen.verdicts += policy.hit(call.load, {call.hit, call.hit + call.hit_wall});
    } else if (!policy.may_capture(seen.hits)) {
      plain(call.prefix);
    } else {
      ++seen.attempts;
      if (capture.traced / 300 > policy.most_opcodes()) {
        const int64_t cut = policy.budget();
        seen.taken += call.plain + cut;
        policy.put_off(cut, cut + policy.expected_of(capture.events), Policy::Known::no_end);
        continue;
      }
      Policy::Traced traced{call.load, capture.events, capture.traced / 300,
                            call.plain + capture.traced};
      policy.recorded(traced);
      seen.taken += traced.nanos;
      const int64_t budget = policy.budget() - traced.tracer;
      const int64_t expected = policy.expected_of(traced.events);
      if (expected > budget) {
        policy.put_off(traced.tracer, traced.tracer + expected, Policy::Known::about);
      } else if (capture.lowered > budget + Policy::kAtOnce) {
        const int64_t given_up = budget + Policy::kAtOnce;
        seen.taken += given_up;
        policy.put_off(traced.tracer + given_up, traced.tracer + 2 * given_up,
                       Policy::Known::at_least);
      } else {
        seen.taken += capture.lowered;
        policy.captured(traced, capture.lowered);
        (call.refused ? refused : known).push_back(call.way);
        seen.captures += !call.refused;
      }
    }
  }
  return seen;
}

// Of any number of ways and at any price.
TEST(Policy, TakesNoLongerThanTwiceThePlainCalls) {
  std::mt19937 random(1);
  Rates rates;
  for (int program = 0; program < 5000; ++program) {
    const auto drawn = [&](double least, double most) {
      std::uniform_real_distribution<double> logarithms(std::log(least), std::log(most));
      return std::exp(logarithms(random));
    };
    const auto nanos = [&](double least, double most) {
      return static_cast<int64_t>(drawn(least, most));
    };
    const int64_t plain = nanos(1e3, 1e7), ways = nanos(1, 30);
    const int64_t hit = nanos(100, static_cast<double>(plain));
    const Capture capture{nanos(1, 3000), nanos(1e4, 3e6), nanos(1e5, 3e8)};
    Policy policy(rates);
    const auto call = [&](int64_t k) { return Call{.hit = hit, .plain = plain, .way = k % ways}; };
    const Outcome seen = run(policy, 1000, call, capture);
    // What is advanced once, and an attempt may take a little more than its budget.
    const int64_t advanced = std::clamp(Policy::kAhead * plain, Policy::kAtOnce, Policy::kNoticed);
    const int64_t free = advanced + seen.attempts * (Policy::kAtOnce + capture.traced);
    EXPECT_LE(seen.taken, 2 * seen.plain + free)
        << "plain " << plain << " ways " << ways << " lowered " << capture.lowered << " captures "
        << seen.captures << " of " << seen.attempts;
    EXPECT_LE(seen.attempts, seen.captures + 10);
  }
}

// What hits lose before that is known comes in addition.
TEST(Policy, LosesLittleByHitsThatAreSlower) {
  std::mt19937 random(1);
  for (int program = 0; program < 2000; ++program) {
    Rates rates;
    Policy policy(rates);
    const auto drawn = [&](double least, double most) {
      return std::uniform_real_distribution<double>(least, most)(random);
    };
    const auto plain = static_cast<int64_t>(drawn(1e5, 1e7));
    const double times = drawn(4, 20);
    const auto ways = static_cast<int64_t>(drawn(1, 10));
    const auto call = [&](int64_t k) {
      const auto hit = static_cast<int64_t>(times * static_cast<double>(plain));
      return Call{.hit = hit, .plain = plain, .way = k % ways};
    };
    const Capture capture{300, 3 * plain, static_cast<int64_t>(drawn(1e5, 1e8))};
    const Outcome seen = run(policy, 1000, call, capture);
    EXPECT_EQ(seen.verdicts > 0, seen.hits >= 2);
    EXPECT_LE(static_cast<double>(seen.taken), 2.5 * static_cast<double>(seen.plain) + 1e8)
        << "plain " << plain << " ways " << ways << " times " << times << " verdicts "
        << seen.verdicts << " hits " << seen.hits << " captures " << seen.captures;
  }
}

// It is the first call that tells what calls take.
TEST(Policy, CapturesAtItsSecondCallWhatTakesNoTimeOrAsLongAsFewCalls) {
  for (const int64_t plain : {1'000, 1'000'000, 7'000'000}) {
    Rates rates;
    Policy policy(rates);
    const Capture capture{10, 1000, std::max(kMilli, 8 * plain)};
    const Outcome seen = run(
        policy, 4, [&](int64_t) { return Call{.hit = plain / 4, .plain = plain}; }, capture);
    EXPECT_EQ(seen.hits, 2) << plain;
  }
}

// Calls whose recording comes to no end are recorded once within fifty.
TEST(Policy, AttemptsThatComeToNothingCostFiftyCallsHalfTheirTimeAtMost) {
  for (const int64_t plain : {1'000'000, 3'000'000}) {
    Rates rates;
    Policy policy(rates);
    const Outcome seen =
        run(policy, 50, [&](int64_t) { return Call{.plain = plain}; }, {10, 1000 * plain, kMilli});
    EXPECT_EQ(seen.attempts, 1);
    EXPECT_LE(seen.taken, 3 * seen.plain / 2) << plain;
  }
}

TEST(Policy, CapturesBeforeItsCallsHaveTakenFourTimesThat) {
  for (const int64_t lowered : {6, 20, 60, 200, 1000}) {
    for (const int64_t events : {10, 300, 3000}) {
      Rates rates;
      Policy policy(rates);
      const Capture capture{events, kMilli, lowered * kMilli};
      // By its events it may be expected to take longer than it does.
      const int64_t most = std::max(lowered * kMilli, policy.expected_of(events) / 2);
      const Outcome seen = run(
          policy, 20'000, [](int64_t) { return Call{.hit = kMilli / 4}; }, capture);
      EXPECT_EQ(seen.captures, 1);
      EXPECT_LE(seen.before, 4 * (most + capture.traced) + Policy::kAtOnce) << lowered;
    }
  }
}

TEST(Policy, CapturesThatNobodyHitsBecomeRare) {
  Rates rates;
  Policy policy(rates);
  const auto call = [](int64_t k) { return Call{.plain = 100'000, .way = k}; };
  const Outcome seen = run(policy, 100'000, call, {10, 1000, kMilli});
  EXPECT_LE(seen.captures, 16);
  EXPECT_GE(seen.captures, 8);
}

// Hits between them or not: what is advanced is advanced once.
TEST(Policy, ManyOutcomesAreCapturedAsFarAsCallsPayForIt) {
  const Capture capture{10, 1000, kMilli};
  for (const int64_t calls : {60, 300, 3000, 30'000}) {
    Rates rates;
    Policy policy(rates);
    const auto call = [](int64_t k) { return Call{.hit = 5000, .plain = 10'000, .way = k / 2}; };
    const Outcome seen = run(policy, calls, call, capture);
    EXPECT_GE(seen.captures, 4);
    EXPECT_LE(seen.captures * capture.lowered, 2 * seen.plain + Policy::kAtOnce) << calls;
  }
}

TEST(Policy, HitsPayForTheNextCapture) {
  Rates rates;
  Policy policy(rates);
  // Each way is met a thousand times: plain, these would take as long as five captures.
  const auto call = [](int64_t k) { return Call{.hit = 5000, .plain = 10'000, .way = k / 1000}; };
  const Outcome seen = run(policy, 30'000, call, {10, 1000, 2 * kMilli});
  EXPECT_EQ(seen.captures, 30);
  EXPECT_GT(seen.hits, 29'000);
}

TEST(Policy, FindsHitsThatAreSlower) {
  for (const double times : {1.3, 2.0, 5.0, 100.0}) {
    Rates rates;
    Policy policy(rates);
    const auto call = [&](int64_t) { return Call{.hit = static_cast<int64_t>(times * kMilli)}; };
    const Outcome seen = run(policy, 2000, call);
    EXPECT_GT(seen.verdicts, 0) << times;
    EXPECT_LT(seen.hits, 200) << times;
    EXPECT_EQ(policy.why().starts_with("hits-slower\n"), policy.rests());
  }
}

// Those that are so short that what reads the clock counts, too, if they take twice as long.
TEST(Policy, FindsShortHitsThatAreSlower) {
  for (const auto& [hit, is_found] : {std::pair(7'000, true), {2'500, true}, {1'800, false}}) {
    Rates rates;
    Policy policy(rates);
    const auto call = [&](int64_t) { return Call{.hit = hit, .plain = 1000}; };
    const Outcome seen = run(policy, 2000, call, {10, 1000, kMilli});
    EXPECT_EQ(seen.verdicts > 0, is_found) << hit;
    EXPECT_EQ(seen.hits < 50, is_found) << hit;
  }
}

TEST(Policy, TriesAgainAsSeldomAsThatLosesMuch) {
  Rates rates;
  Policy policy(rates);
  const Outcome seen = run(policy, 10'000, [](int64_t) { return Call{.hit = 100 * kMilli}; });
  EXPECT_GE(seen.verdicts, 2);
  EXPECT_LE(seen.verdicts, 5);
  EXPECT_LE(seen.taken, 2 * seen.plain);
}

TEST(Policy, LeavesNoPathAloneWhereThatWouldShow) {
  Rates rates;
  Policy policy(rates);
  policy.may_rest(false);
  const Outcome seen = run(policy, 1000, [](int64_t) { return Call{.hit = 100 * kMilli}; });
  EXPECT_EQ(seen.rested, 0);
  EXPECT_EQ(seen.timed, 0);
}

TEST(Policy, TimesFewHitsWhereTheyAreNoSlower) {
  Rates rates;
  Policy policy(rates);
  const Outcome seen = run(policy, 100'000, [](int64_t) { return Call{.hit = kMilli / 2}; });
  EXPECT_EQ(seen.verdicts, 0);
  EXPECT_LT(seen.timed, 40);
}

TEST(Policy, SaysNothingOfLoadsThatNeverRanPlain) {
  Rates rates;
  Policy policy(rates);
  const auto call = [](int64_t k) {
    return k < 200 ? Call{.load = 3.0} : Call{.load = 12.0, .hit = 100 * kMilli};
  };
  EXPECT_EQ(run(policy, 10'000, call).verdicts, 0);
}

TEST(Policy, OfACallThatWasOnlyRecordedATenthMayBePlain) {
  for (const int64_t hit : {250'000, 1'500'000}) {
    Rates rates;
    Policy policy(rates);
    const auto call = [&](int64_t k) {  // the first, which runs plain, is given less
      return Call{.load = k == 0 ? 3.0 : 10.0, .hit = hit, .plain = 200'000};
    };
    const Outcome seen = run(policy, 20, call, {10, 3 * kMilli, kMilli / 10});
    EXPECT_EQ(seen.hits == 18, hit == 250'000) << "the recorded call took 3.2 ms";
  }
}

TEST(Policy, WaitsForHitsThatOtherProgramsHeldUp) {
  Rates rates;
  Policy policy(rates);
  const auto call = [](int64_t) { return Call{.hit = kMilli / 2, .hit_wall = 20 * kMilli}; };
  EXPECT_EQ(run(policy, 10'000, call).verdicts, 0);
}

TEST(Policy, StepsReplayedForNothingAreLostAsWell) {
  Rates rates;
  Policy policy(rates);
  const auto call = [](int64_t k) {
    return k < 100 ? Call{.hit = kMilli / 2} : Call{.prefix = kMilli / 2, .way = 1 + k};
  };
  const Outcome seen = run(policy, 1000, call, {1000, kMilli, 20 * kMilli});
  EXPECT_GT(seen.rested, 500);
}

TEST(Policy, LooksSeldomForPathsWhereNoneIsCompiled) {
  for (const int64_t plain : {int64_t{300}, int64_t{20'000}, kMilli}) {
    Rates rates;
    Policy policy(rates);
    const auto call = [&](int64_t) {
      return Call{.plain = plain, .prefix = 5'000, .refused = true};
    };
    const Outcome seen = run(policy, 100'000, call, {100, kMilli / 10, kMilli});
    EXPECT_LE(seen.attempts, 2);  // the first, or one behind it, for which calls had not paid
    EXPECT_LT(seen.looks, 30);
    EXPECT_LT(seen.taken, seen.plain + seen.plain / 100 + 10 * kMilli);
  }
}

TEST(Policy, CapturesOtherWaysThanThoseThatWereRefused) {
  for (const int64_t plain : {int64_t{20'000}, kMilli}) {
    for (const int64_t every : {2, 3, 4}) {
      std::mt19937 random(1);
      Rates rates;
      Policy policy(rates);
      const auto call = [&](int64_t k) {
        const bool good = k > 0 && random() % static_cast<uint64_t>(every) == 0;
        return Call{
            .hit = plain / 2, .plain = plain, .prefix = 5'000, .way = good, .refused = !good};
      };
      const Outcome seen = run(policy, 100'000, call, {100, kMilli / 10, kMilli});
      EXPECT_EQ(seen.captures, 1);
      EXPECT_GT(seen.hits, 80'000 / every);
    }
  }
}

TEST(Policy, ReadsTheClockForFewOfManyShortCalls) {
  Rates rates;
  Policy policy(rates);
  const auto call = [](int64_t k) { return Call{.plain = 1'000, .way = k}; };
  const Outcome seen = run(policy, 100'000, call, {100'000, kMilli, 10'000 * kMilli});
  EXPECT_LT(seen.timed_plain, 100'000 / 20);
}

// Hits are no slower, whatever calls are given and whatever else varies.
TEST(Policy, RarelyBlamesHitsThatAreNoSlower) {
  std::mt19937 random(1);
  int64_t blamed = 0, rested = 0;
  constexpr int64_t kPrograms = 500, kCalls = 2000;
  for (int64_t program = 0; program < kPrograms; ++program) {
    std::lognormal_distribution<double> noise(0, 0.02 * static_cast<double>(program % 20));
    std::uniform_real_distribution<double> loads(8, 8 + static_cast<double>(program % 7));
    Rates rates;
    Policy policy(rates);
    const Outcome seen = run(policy, kCalls, [&](int64_t) {
      const double load = loads(random), nanos = std::exp2(load) * 1000;
      const auto taken = [&] { return static_cast<int64_t>(nanos * noise(random)); };
      return Call{.load = load, .hit = taken(), .plain = taken()};
    });
    blamed += seen.verdicts > 0;
    rested += seen.rested;
  }
  EXPECT_LT(blamed, kPrograms / 20);
  EXPECT_LT(rested, kPrograms * kCalls / 50);
}

TEST(Policy, SaysWhatACaptureCostsAndWhen) {
  Rates rates;
  Policy policy(rates);
  EXPECT_EQ(policy.why(), "");
  EXPECT_FALSE(policy.may_capture(0));  // nobody knows yet what a call takes
  EXPECT_EQ(policy.why(), "first-call");
  policy.plain(10, {kMilli / 10, kMilli / 10}, 0);
  EXPECT_TRUE(policy.may_capture(0));
  policy.put_off(6 * kMilli, 20 * kMilli, Policy::Known::about);
  policy.plain(10, {3 * kMilli, 3 * kMilli}, 0);
  EXPECT_FALSE(policy.may_capture(0));
  EXPECT_EQ(policy.why().substr(0, 12), "waits\n20 ms\n");
}

// Behind as many calls as it says, whatever else is hit, it is captured or a higher price is known.
TEST(Policy, WhatItSaysHolds) {
  std::mt19937 random(1);
  for (int program = 0; program < 300; ++program) {
    const auto drawn = [&](double least, double most) {
      return static_cast<int64_t>(std::uniform_real_distribution<double>(least, most)(random));
    };
    Rates rates;
    Policy policy(rates);
    const int64_t plain = drawn(2e4, 2e6), lowered = drawn(5e6, 3e8);
    policy.plain(10, {plain, plain}, 0);
    const int64_t advanced = policy.budget();
    const auto known = static_cast<Policy::Known>(program % 3);
    policy.put_off(advanced, lowered, known);
    ASSERT_FALSE(policy.may_capture(0));
    const std::string said = policy.why();
    EXPECT_TRUE(said.starts_with(known == Policy::Known::about ? "waits\n" : "tried\n"));
    const auto left = std::stoll(said.substr(said.find('\n', said.find('\n') + 1) + 1));
    int64_t calls = 0;
    while (!policy.may_capture(calls % 3)) {  // hits between
      ++calls;
      if (policy.wants_plain()) policy.plain(10, {plain, plain}, 0);
    }
    EXPECT_LE(calls, left + 2);
    EXPECT_GE(calls, left / 2 - 2 * Policy::kAtOnce / plain) << "hits pay for 5 ms at most";
  }
}

}  // namespace
}  // namespace dvm::capture
