// The rules of Plans within Plans.
#include <gtest/gtest.h>

#include <ctime>

#include "core/error.h"
#include "runtime/plan/plan.h"

namespace dvm::runtime {
namespace {

constexpr const char* kLoop = R"(plan v1 {
  input b0: f64 rank 1
  scalar s0: i64
  body p0 = plan v1 {
    input b0: f64 rank 1 ours
    scalar s0: i64
    region r0 = graph v1 {
      %0 = input f64[n]
      %1 = neg(%0) f64[n]
      return %1
    }
    i0 = size b0, 0
    run r0, [b0], [b0], [i0], []
    ret [b0]
  }
  i0 = number s0
  b1, b2 = loop p0, [i0], 1, [b0], [], [], [i64[], f64[?]]
  ret [b2, b1]
}
)";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string message_of(const std::string& text) {
  try {
    parse_plan(text);
  } catch (const core::Error& error) {
    return error.what();
  }
  return "";
}

TEST(PlanBodies, RoundTripAsText) { EXPECT_EQ(print(parse_plan(kLoop)), kLoop); }

TEST(PlanBodies, VerifierNamesTheRule) {
  struct Broken {
    const char *rule, *from, *to;
  };
  const Broken broken[] = {
      {"a Region writes a buffer that is not the Plan's", " ours", ""},
      {"only a loop's body has arguments of its own", "rank 1\n  scalar", "rank 1 ours\n  scalar"},
      {"results are not what the loop carries", "[i64[], f64[?]]", "[i64[], f32[?]]"},
      {"what a body gives is not what its loop carries", "ret [b0]", "ret []"},
      {"a body writes what its loop does not carry", "[i0], 1, [b0]", "[i0], 0, [b0]"},
      {"an operand that is not defined here", "loop p0", "loop p1"},
      {"an array that is given as a number", "[b0], [], []", "[b0], [0], []"},
      {"arguments are not what a body takes", "[b0], [], []", "[b0], [], [i0]"},
      {"two numbers of trips", "loop p0, [i0]", "loop p0, [i0, i0]"},
      {"carries more than it is given", "[i0], 1, [b0]", "[i0], 2, [b0]"},
      {"no number of that type", "    ret [b0]", "    leave b0, [b0]\n    ret [b0]"},
      {"a body has a constant of the host's", "    scalar s0: i64\n    region",
       "    constant b1: f64 [1] = \"w\"\n    scalar s0: i64\n    region"},
      {"a body calls what its Plan does not name", "    region", "    callee 0: \"f\"\n    region"},
  };
  for (const auto& [rule, from, to] : broken) {
    const std::string message = message_of(replaced(kLoop, from, to));
    EXPECT_NE(message.find(rule), std::string::npos) << rule << "\n" << message;
  }
}

TEST(PlanBodies, NestOnlySoDeep) {
  std::string text = "plan v1 {";
  for (int depth = 0; depth < 40; ++depth) text += " body p0 = plan v1 {";
  EXPECT_NE(message_of(text).find("bodies within bodies are too many"), std::string::npos);
}

// A branch whose two ways are one body, in a body that does the same, and so on: each is looked at
// once, not twice as often as the one around it.
TEST(PlanBodies, AreVerifiedOnceHoweverOftenTheyRun) {
  std::string text = "plan v1 {\n  input b0: bool rank 0\n  ret [b0]\n}\n";
  for (int depth = 0; depth < 30; ++depth) {
    text = "plan v1 {\n  input b0: bool rank 0\n  body p0 = " + text +
           "  b1 = branch p0, p0, b0, [b0], [], [bool[]]\n  ret [b1]\n}\n";
  }
  const Plan plan = parse_plan(text);
  timespec begin, end;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  verify(plan);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  EXPECT_LT(end.tv_sec - begin.tv_sec, 5);
}

}  // namespace
}  // namespace dvm::runtime
