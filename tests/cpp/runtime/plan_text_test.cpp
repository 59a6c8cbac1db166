// Plans survive text, and no text does worse than a FormatError.
#include <gtest/gtest.h>

#include "core/error.h"
#include "runtime/plan_generator.h"

namespace dvm::runtime {
namespace {

TEST(PlanText, RoundTrip) {
  size_t instructions = 0, with_region = 0;
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Plan plan = test::PlanGenerator(seed).run();
    ASSERT_NO_THROW(verify(plan)) << print(plan);
    const std::string text = print(plan);
    const Plan parsed = parse_plan(text);
    ASSERT_TRUE(equal(plan, parsed)) << text << print(parsed);
    // Notes are comments, so that the second text is the first without them.
    ASSERT_EQ(print(parse_plan(print(parsed))), print(parsed));
    instructions += plan.code.size();
    for (const Instruction& instruction : plan.code) with_region += instruction.op == PlanOp::run;
  }
  EXPECT_GT(instructions, 100000u);
  EXPECT_GT(with_region, 3000u) << "the generator lost its Regions";
}

// Bytes and whole lines are swapped, dropped and doubled.
TEST(PlanText, DamagedTextIsRefusedOrVerified) {
  int refused = 0;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::string text = print(test::PlanGenerator(seed % 500).run());
    for (uint64_t edits = 1 + random() % 4; edits > 0; --edits) {
      const size_t at = random() % text.size();
      const size_t other = random() % text.size();
      switch (random() % 5) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 12);
          break;
        case 2:
          text.insert(at, text.substr(other, 1 + random() % 12));
          break;
        case 3:
          text[at] = "0123456789[]=, brs"[random() % 18];
          break;
        default:
          std::swap(text[at], text[other]);
      }
      if (text.empty()) text = " ";
    }
    try {
      const Plan plan = parse_plan(text);
      ASSERT_TRUE(equal(plan, parse_plan(print(plan))));
    } catch (const core::Error& error) {
      ASSERT_NE(error.code(), core::ErrorCode::internal) << error.what() << "\n" << text;
      ++refused;
    }
  }
  EXPECT_GT(refused, 10000);
}

TEST(PlanText, Version) {
  try {
    parse_plan("plan v2 {\n  ret []\n}\n");
    FAIL() << "another version was read";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::text_version);
  }
}

TEST(PlanText, LinesOfErrorsCountRegions) {
  const std::string region =
      "  region r0 = graph v1 {\n    %0 = input f32[s0]\n    %1 = exp(%0) f32[s0]\n"
      "    return %1\n  }\n";
  try {
    parse_plan("plan v1 {\n" + region + "  nonsense\n}\n");
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_NE(std::string(error.what()).find("line 7"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace dvm::runtime
