// Bodies of loops that go by the number of their trip: one record serves many trips.
#include "runtime/execute/trips.h"

#include <gtest/gtest.h>

#include "cpu/cpu_target.h"
#include "runtime/execute/context.h"
#include "runtime/fake_host.h"

namespace dvm::runtime {
namespace {

using test::FakeHost;

// y[t + 1] = y[t] + x[place], where `place` is computed of the number of the trip.
std::string body_of(const std::string& place) {
  return R"(plan v1 {
    input b0: f64 rank 2 ours
    input b1: f64 rank 2
    scalar s0: i64
    region r0 = graph v1 {
      %0 = input f64[k, m]
      %1 = input f64[k, m]
      %2 = add(%0, %1) f64[k, m]
      return %2
    }
    region r1 = graph v1 {
      %0 = input f64[k, m]
      %1 = broadcast(%0) f64[k, m]
      return %1
    }
    i0 = number s0
    i1 = literal 0
    i2 = literal 1
    i3 = size b1, 0
    i4 = size b1, 1
    i5 = add i0, i2
)" + place +
         R"(    b2 = slice b0, [i0, i1], [i2, i2], [i2, i4]
    b3 = slice b1, [i7, i1], [i2, i2], [i2, i4]
    b4 = slice b0, [i5, i1], [i2, i2], [i2, i4]
    b5 = alloc f64, [i2, i4]
    run r0, [b2, b3], [b5], [i2, i4], []
    run r1, [b5], [b4], [i2, i4], []
    free b5
    ret [b0]
  }
)";
}
Plan plan_of(const std::string& place) {
  return parse_plan(R"(plan v1 {
  input b0: f64 rank 2
  scalar s0: i64
  region r0 = graph v1 {
    %0 = constant f64[] {value = 0x0p+0}
    %1 = broadcast(%0) f64[k, m]
    return %1
  }
  body p0 = )" + body_of(place) +
                    R"(  i0 = number s0
  i1 = size b0, 1
  i2 = literal 1
  i3 = add i0, i2
  b1 = host_alloc f64, [i3, i1]
  run r0, [], [b1], [i3, i1], []
  b2, b3 = loop p0, [i0], 1, [b1, b0], [], [], [i64[], f64[?, ?]]
  free b1
  free b2
  ret [b3]
}
)");
}

constexpr const char* kForward = "    i6 = literal 0\n    i7 = add i0, i6\n";
constexpr const char* kBackward = "    i6 = sub i3, i2\n    i7 = sub i6, i0\n";
constexpr const char* kEverySecond = "    i6 = literal 2\n    i7 = mul i0, i6\n";
constexpr const char* kInTurns = "    i6 = literal 0\n    i7 = mod i0, i3\n";
constexpr const char* kSquares = "    i6 = literal 0\n    i7 = mul i0, i0\n";
constexpr const char* kLarger = "    i6 = literal 0\n    i7 = max i0, i6\n";
constexpr const char* kUpToFour = "    i6 = literal 4\n    check lt, i0, i6\n    i7 = add i0, i1\n";
constexpr const char* kNeverThree =
    "    i6 = literal 3\n    check ne, i0, i6\n    i7 = add i0, i1\n";

TEST(Trips, AreToldByWhatTheirNumberIsUsedFor) {
  const auto use = [](const char* place) { return trip_use(plan_of(place).bodies[0]); };
  EXPECT_EQ(use(kForward), TripUse::moves);
  EXPECT_EQ(use(kBackward), TripUse::moves);
  EXPECT_EQ(use(kEverySecond), TripUse::moves);
  EXPECT_EQ(use(kUpToFour), TripUse::moves);
  EXPECT_EQ(use(kInTurns), TripUse::anything);
  EXPECT_EQ(use(kSquares), TripUse::anything);
  EXPECT_EQ(use(kNeverThree), TripUse::anything);
  EXPECT_EQ(use(kLarger), TripUse::anything);
}

class LoopsByTrip : public testing::Test {
 protected:
  Outcome run(const Plan& plan, int64_t rows, int64_t count, std::vector<double>& elements) {
    core::Array x = core::make_array(core::DType::f64, {rows, 3});
    double next = 1;
    for (double& element : core::elements<double>(x)) element = next++;
    const BufferView input = test::to_buffer(host_, x, 0);
    const core::Scalar trips = core::Scalar::of_int(count);
    BufferView result;
    ExecutionContext& context = ExecutionContext::acquire();
    const Outcome outcome =
        execute(plan, *target_, host_, {&input, 1}, {&trips, 1}, {&result, 1}, context);
    ExecutionContext::release(context);
    if (outcome == Outcome::done) {
      const core::Array array = test::to_array(result);
      const auto all = core::elements<double>(array);
      elements.assign(all.begin(), all.end());
      host_.release(result.owner);
    }
    host_.release(input.owner);
    EXPECT_EQ(host_.live, 0);
    return outcome;
  }

  template <typename Place>
  void expect_sums(const char* text, int64_t rows, int64_t count, Place place) {
    const Plan plan = plan_of(text);
    for (int round = 0; round < 3; ++round) {  // the later ones by records of the first
      for (int64_t trips = count; trips >= 0; trips -= 1 + count / 3) {
        std::vector<double> got;
        ASSERT_EQ(run(plan, rows, trips, got), Outcome::done);
        std::vector<double> wanted(static_cast<size_t>(3 * (trips + 1)), 0);
        for (int64_t t = 0; t < trips; ++t) {
          for (int64_t j = 0; j < 3; ++j) {
            const double x = static_cast<double>(1 + 3 * place(t) + j);
            wanted[static_cast<size_t>(3 * (t + 1) + j)] =
                wanted[static_cast<size_t>(3 * t + j)] + x;
          }
        }
        EXPECT_EQ(got, wanted) << text << trips;
      }
    }
  }

  FakeHost host_;
  const std::unique_ptr<vm::Target> target_ = cpu::make_cpu_target();
};

TEST_F(LoopsByTrip, MoveFromTripToTrip) {
  for (const int64_t rows : {1, 2, 7, 40}) {
    expect_sums(kForward, rows, rows, [](int64_t t) { return t; });
    expect_sums(kBackward, rows, rows, [&](int64_t t) { return rows - 1 - t; });
    expect_sums(kEverySecond, rows, (rows + 1) / 2, [](int64_t t) { return 2 * t; });
    expect_sums(kInTurns, rows, rows + 5, [&](int64_t t) { return t % rows; });
  }
}

TEST_F(LoopsByTrip, EndWhereTheirChecksDo) {
  struct Ending {
    const char* place;
    int64_t rows, trips;  // so many are there
  };
  const Ending endings[] = {{kForward, 5, 5},
                            {kBackward, 6, 6},
                            {kEverySecond, 7, 4},
                            {kUpToFour, 9, 4},
                            {kNeverThree, 9, 3}};
  for (const Ending& each : endings) {
    const Plan plan = plan_of(each.place);
    for (int round = 0; round < 2; ++round) {
      std::vector<double> elements;
      EXPECT_EQ(run(plan, each.rows, each.trips, elements), Outcome::done) << each.place;
      for (const int64_t more : {1, 2, 100}) {
        EXPECT_EQ(run(plan, each.rows, each.trips + more, elements), Outcome::check_failed)
            << each.place;
      }
    }
  }
}

}  // namespace
}  // namespace dvm::runtime
