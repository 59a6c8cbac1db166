// Programs of which hits and plain calls take so and so long, by a clock that is worked out.
#include "capture/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace dvm::capture {
namespace {

using Kind = Comparison::Kind;
using Verdict = Comparison::Verdict;

constexpr int64_t kMilli = 1'000'000;

// What a call is given, and what it takes; wall: so much longer by the wall's clock.
struct Call {
  double load = 10;
  int64_t hit = kMilli, plain = kMilli;
  int64_t hit_wall = 0, plain_wall = 0;
  int64_t turns = 0;
};

struct Outcome {
  int64_t hits = 0, plain = 0;  // calls
  int64_t lost = 0, taken = 0;  // ns of plain calls over the hits that they stood for; of all hits
  bool slower = false;
};

// Until hits are found to be slower, or for so many calls; `rests`: on and on, as Backoff does it.
Outcome run(Comparison& comparison, int64_t calls, const std::function<Call(int64_t)>& call_of,
            int64_t known_plain = 0, bool rests = false) {
  Outcome seen;
  int64_t rest = 0;
  for (int64_t k = 0; k < calls && (rests || !seen.slower); ++k) {
    const Call call = call_of(k);
    if (rest > 0) {
      --rest;
      ++seen.plain;
      continue;
    }
    const Kind kind = comparison.is_on() ? comparison.next(call.load) : Kind::as_it_is;
    Verdict verdict = Verdict::open;
    if (kind == Kind::plain) {
      ++seen.plain;
      seen.lost += call.plain - call.hit;
      verdict = comparison.timed_plain(call.load, {call.plain, call.plain + call.plain_wall});
    } else {
      ++seen.hits;
      seen.taken += call.hit;
      if (kind == Kind::hit) {
        verdict = comparison.timed_hit(call.load, {call.hit, call.hit + call.hit_wall}, call.turns,
                                       seen.hits, known_plain);
      } else {
        comparison.hit(call.turns);
      }
    }
    if (verdict != Verdict::slower) continue;
    seen.slower = true;
    rest = comparison.rest();
    if (rests) comparison.again();
  }
  return seen;
}

Outcome run(int64_t calls, const std::function<Call(int64_t)>& call_of, int64_t known_plain = 0) {
  Comparison comparison;
  return run(comparison, calls, call_of, known_plain);
}

TEST(Comparison, FindsHitsThatAreSlower) {
  for (const int64_t times : {2, 3, 5, 100}) {
    Comparison comparison;
    const Outcome seen =
        run(comparison, 1000, [&](int64_t) { return Call{.hit = times * kMilli}; });
    EXPECT_TRUE(seen.slower) << times;
    EXPECT_LT(seen.hits, 90) << times;
    EXPECT_EQ(comparison.hit_nanos(), times * kMilli);
    EXPECT_EQ(comparison.plain_nanos(), kMilli);
    EXPECT_NEAR(comparison.ratio(), static_cast<double>(times), 1e-9);
  }
}

TEST(Comparison, FindsThoseSoonThatAreMuchSlowerThanAPlainCallIsKnownToBe) {
  const auto call = [](int64_t) { return Call{.hit = 100 * kMilli, .plain = kMilli / 10}; };
  EXPECT_LT(run(1000, call, kMilli / 10).hits, 40);
}

TEST(Comparison, AgainTakesFewerPairs) {
  Comparison comparison;
  const auto call = [](int64_t) { return Call{.hit = 100 * kMilli}; };
  EXPECT_TRUE(run(comparison, 1000, call).slower);
  comparison.again();
  const Outcome seen = run(comparison, 1000, call);
  EXPECT_TRUE(seen.slower);
  EXPECT_LE(seen.hits, 20);
  EXPECT_GE(comparison.rest(), 3200);
}

TEST(Comparison, LeavesSlowHitsNearlyAllCalls) {
  Comparison comparison;
  const auto call = [](int64_t) { return Call{.hit = 900 * kMilli}; };
  EXPECT_LT(run(comparison, 20'000, call, 0, true).hits, 100);
}

TEST(Comparison, CostsLittleWhereHitsAreFaster) {
  for (const int64_t times : {1, 2, 10, 50, 1000}) {
    const Outcome seen =
        run(100'000, [&](int64_t) { return Call{.hit = kMilli, .plain = times * kMilli}; });
    EXPECT_FALSE(seen.slower);
    EXPECT_LE(static_cast<double>(seen.lost), 0.015 * static_cast<double>(seen.taken)) << times;
  }
  // Nor where there are few calls, once it is known that plain ones take longer.
  const auto call = [](int64_t) { return Call{.hit = kMilli, .plain = 50 * kMilli}; };
  EXPECT_EQ(run(1000, call, 50 * kMilli).plain, 0);
}

TEST(Comparison, LooksAtNoShortHits) {
  const auto call = [](int64_t) { return Call{.hit = Comparison::kLong / 2, .plain = 1000}; };
  const Outcome seen = run(100'000, call);
  EXPECT_FALSE(seen.slower);
  EXPECT_EQ(seen.plain, 0);
}

TEST(Comparison, SuspectsTurnsFromTheFirstHitOn) {
  const auto call = [](int64_t) { return Call{.hit = 40'000, .plain = 4'000, .turns = 100}; };
  Comparison comparison;
  const Outcome seen = run(comparison, 100, call);
  EXPECT_TRUE(seen.slower);
  EXPECT_TRUE(comparison.has_many_turns());
  EXPECT_LT(seen.hits, 40);
}

// Programs whose hits take as long as their plain calls, or less, however they vary: nearly all
// calls stay hits.
class NotSlower : public testing::TestWithParam<int> {
 protected:
  std::mt19937_64 random{static_cast<uint64_t>(GetParam())};

  double uniform() { return std::uniform_real_distribution<double>()(random); }
  void expect(const std::function<Call(int64_t)>& call) {
    Comparison comparison;
    constexpr int64_t kCalls = 20'000;
    EXPECT_LT(run(comparison, kCalls, call, 0, true).plain, kCalls / 100);
  }
};

TEST_P(NotSlower, WhereCallsTakeTurns) {
  for (const int64_t period : {2, 3, 4, 6}) {
    expect([&, period](int64_t k) {
      const int64_t nanos = ((k + GetParam()) % period == 0 ? 100 : 1) * kMilli;
      return Call{.hit = nanos, .plain = nanos};  // which their arguments do not tell
    });
  }
}

TEST_P(NotSlower, WhereSizesVary) {
  expect([&](int64_t) {
    const double load = 10 * uniform();
    const auto nanos = static_cast<int64_t>(std::exp2(load) * 1e5);
    return Call{.load = load, .hit = nanos, .plain = nanos};
  });
}

TEST_P(NotSlower, WhereSizesGrow) {
  expect([&](int64_t k) {
    const double load = 0.01 * static_cast<double>(k);
    const auto nanos = static_cast<int64_t>(1e5 * (1 + load));
    return Call{.load = load, .hit = nanos, .plain = nanos};
  });
}

TEST_P(NotSlower, WhereOthersHoldThemUp) {
  expect([&](int64_t) {
    Call call{.hit = kMilli, .plain = kMilli};
    for (int64_t* wall : {&call.hit_wall, &call.plain_wall}) {
      if (uniform() < 0.4) *wall = static_cast<int64_t>(20 * uniform() * kMilli);
    }
    return call;
  });
}

TEST_P(NotSlower, WhereOtherThreadsDoTheWorkOfPlainCalls) {
  expect([&](int64_t) {
    return Call{.hit = 3 * kMilli, .plain = kMilli, .hit_wall = 0, .plain_wall = 3 * kMilli};
  });
}

TEST_P(NotSlower, WhereTheFirstHitsAreCold) {
  expect([&](int64_t k) { return Call{.hit = (k < 20 ? 100 : 1) * kMilli}; });
}

TEST_P(NotSlower, WhereMomentsDiffer) {
  expect([&](int64_t) {
    const auto nanos = [&] { return static_cast<int64_t>((0.6 + uniform()) * kMilli); };
    return Call{.hit = nanos(), .plain = nanos()};
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, NotSlower, testing::Range(0, 20));

TEST(Comparison, FindsThemWhereSizesVaryAndOthersHoldThemUp) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform;
  const Outcome seen = run(20'000, [&](int64_t) {
    const double load = 3 * uniform(random);
    const auto plain = static_cast<int64_t>(std::exp2(load) * 1e5);
    Call call{.load = load, .hit = 20 * plain, .plain = plain};
    if (uniform(random) < 0.3) call.hit_wall = 10 * kMilli;
    if (uniform(random) < 0.3) call.plain_wall = 10 * kMilli;
    return call;
  });
  EXPECT_TRUE(seen.slower);
}

}  // namespace
}  // namespace dvm::capture
