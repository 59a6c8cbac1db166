// Every rule of the verifier, each pinned by a Plan that breaks it alone.
#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "runtime/plan_generator.h"

namespace dvm::runtime {
namespace {

std::string refusal(const Plan& plan) {
  try {
    verify(plan);
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::plan_invalid) << error.what();
    return error.message();
  }
  return "accepted";
}

constexpr const char* kInputs =
    "plan v1 {\n"
    "  input b0: f32 rank 2\n"
    "  scalar s0: f32\n"
    "  callee 0: \"f\"\n"
    "  region r0 = graph v1 {\n"
    "    %0 = input f32[s0, s1]\n"
    "    %1 = scalar f32[]\n"
    "    %2 = broadcast(%1) f32[s0, s1]\n"
    "    %3 = add(%0, %2) f32[s0, s1]\n"
    "    return %3\n"
    "  }\n"
    "  i0 = literal 4\n";

struct Case {
  const char *body, *rule;
};
// NOLINTNEXTLINE(readability-identifier-naming): the name that googletest calls
void PrintTo(const Case& c, std::ostream* out) { *out << c.rule; }

class PlanRules : public testing::TestWithParam<Case> {};

TEST_P(PlanRules, AreEnforced) {
  std::string message = "accepted";
  try {
    parse_plan(kInputs + std::string(GetParam().body) + "}\n");
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::plan_invalid) << error.what();
    message = error.message();
  }
  EXPECT_NE(message.find(GetParam().rule), std::string::npos) << GetParam().body << message;
}

INSTANTIATE_TEST_SUITE_P(
    Text, PlanRules,
    testing::Values(
        Case{"ret [b0]\n", "accepted"},
        Case{"b1 = host_alloc f32, [i0, i0]\nrun r0, [b0], [b1], [i0, i0], [s0]\nret [b1]\n",
             "accepted"},
        Case{"b1 = alloc f32, [i0, i0]\nrun r0, [b0], [b1], [i0, i0], [s0]\nfree b1\nret []\n",
             "accepted"},
        Case{"check eq, i0, i0\n", "the last is not ret"},
        Case{"ret []\nret []\n", "ret is not the last"},
        Case{"i2 = literal 4\nret []\n", "registers are not defined in order"},
        Case{"b2 = transpose b0, [1, 0]\nret []\n", "registers are not defined in order"},
        Case{"i1 = add i0, i1\nret []\n", "an operand that is not defined here"},
        Case{"ret [b1]\n", "an operand that is not defined here"},
        Case{"run r1, [], [], [], []\nret []\n", "an operand that is not defined here"},
        Case{"b1 = call 1, [], [], [], 1, [0], [f32], [0]\nret []\n",
             "an operand that is not defined here"},
        Case{"b1 = call 0, [], [], [], 1, [0], [f32], [9]\nret []\n",
             "an operand that is not defined here"},
        Case{"b1, b2 = call 0, [b0], [i0], [s0], 3, [0, 2], [f32, i64], [1, 0]\nfree b1\n"
             "ret [b2, b0]\n",
             "accepted"},
        Case{"b1, b2 = call 0, [], [], [], 3, [0, 0], [f32, i64], [1, 0]\nret []\n",
             "places of results are not in order"},
        Case{"b1 = call 0, [], [], [], 3, [3], [f32], [1]\nret []\n",
             "places of results are not in order"},
        Case{"b1 = call 0, [], [], [], 3, [0, 1], [f32], [1]\nret []\n",
             "places, element types and ranks differ in number"},
        Case{"b1 = call 0, [], [], [], 3, [0], [f32, f32], [1]\nret []\n",
             "places, element types and ranks differ in number"},
        Case{"b1 = call 0, [], [], [], 99, [0], [f32], [1]\nret []\n",
             "an operand that is not defined here"},
        Case{"b1 = call 0, [], [i1], [], 1, [0], [f32], [1]\nret []\n",
             "an operand that is not defined here"},
        Case{"b1 = call 0, [], [], [s1], 1, [0], [f32], [1]\nret []\n",
             "an operand that is not defined here"},
        Case{"b1 = host_alloc f32, [i0]\ncall_into 0, [b0], [i0], [s0], [b1]\nret [b1]\n",
             "accepted"},
        Case{"b1 = host_alloc f32, [i0]\ncall_into 0, [b1], [], [], [b1]\nret [b1]\n",
             "read before it is written"},
        Case{"b1 = host_alloc f32, [i0]\nundefined b1\ncall_into 0, [b1], [], [], [b1]\nret [b1]\n",
             "writes a buffer that is not the Plan's"},
        Case{"b1 = host_alloc f32, [i0]\ncall_into 0, [], [], [], [b1, b1]\nret [b1]\n",
             "writes a buffer that is not the Plan's"},
        Case{"call_into 0, [], [], [], [b0]\nret []\n", "writes a buffer that is not the Plan's"},
        Case{"b1 = alloc f32, [i0]\ncall_into 0, [], [], [], [b1]\nret []\n",
             "a temporary leaves the Plan"},
        Case{"b1 = host_alloc f32, [i0, i0]\nb2 = transpose b1, [1, 0]\n"
             "call_into 0, [], [], [], [b2]\nret []\n",
             "writes a buffer that is not the Plan's"},
        Case{"b1 = host_alloc f32, [i0, i0]\ncall_into 0, [], [], [], [b1]\n"
             "run r0, [b0], [b1], [i0, i0], [s0]\nret []\n",
             "a buffer that is not the Plan's"},
        Case{"i1 = size b0, 2\nret []\n", "no such axis"},
        Case{"b1 = alloc f32, [i0, i0, i0, i0, i0, i0, i0, i0, i0]\nret []\n",
             "a rank beyond the limit"},
        Case{"b1 = reshape b0, [i0, i0, i0, i0, i0, i0, i0, i0, i0]\nret []\n",
             "a rank beyond the limit"},
        Case{"b1 = transpose b0, [1]\nret []\n", "the axes are no permutation"},
        Case{"b1 = transpose b0, [1, 1]\nret []\n", "the axes are no permutation"},
        Case{"b1 = slice b0, [i0], [i0, i0], [i0, i0]\nret []\n", "differ from the rank"},
        Case{"b1 = slice b0, [i0, i0], [i0], [i0, i0]\nret []\n", "differ from the rank"},
        Case{"b1 = slice b0, [i0, i0], [i0, i0], [i0]\nret []\n", "differ from the rank"},
        Case{"run r0, [], [], [i0, i0], [s0]\nret []\n", "differ from the Region's arguments"},
        Case{"b1 = alloc f32, [i0, i0]\nrun r0, [b0], [b1], [i0], [s0]\nret []\n",
             "differ from the Region's arguments"},
        Case{"b1 = alloc f32, [i0, i0]\nrun r0, [b0], [b1], [i0, i0], []\nret []\n",
             "differ from the Region's arguments"},
        Case{"b1 = alloc f64, [i0, i0]\nrun r0, [b0], [b1], [i0, i0], [s0]\nret []\n",
             "a buffer of another element type or rank"},
        Case{"b1 = alloc f32, [i0]\nrun r0, [b0], [b1], [i0, i0], [s0]\nret []\n",
             "a buffer of another element type or rank"},
        Case{"b1 = reshape b0, [i0]\nb2 = alloc f32, [i0, i0]\n"
             "run r0, [b1], [b2], [i0, i0], [s0]\nret []\n",
             "a buffer of another element type or rank"},
        Case{"run r0, [b0], [b0], [i0, i0], [s0]\nret []\n", "a buffer that is not the Plan's"},
        Case{"b1 = call 0, [], [], [], 1, [0], [f32], [2]\nrun r0, [b0], [b1], [i0, i0], [s0]\nret "
             "[]\n",
             "a buffer that is not the Plan's"},
        Case{"b1 = host_alloc f32, [i0, i0]\nundefined b1\nb2 = call 0, [b1], [], [], 1, [0], "
             "[f32], [2]\n"
             "run r0, [b0], [b1], [i0, i0], [s0]\nret []\n",
             "a buffer that is not the Plan's"},
        Case{"b1 = call_fresh 0, [], [], [], 1, [0], [f32], [2]\n"
             "run r0, [b1], [b1], [i0, i0], [s0]\nret [b1]\n",
             "accepted"},
        Case{"b1 = host_alloc f32, [i0, i0]\nundefined b1\nb2 = call_fresh 0, [b1], [], [], 1, "
             "[0], [f32], [2]\n"
             "run r0, [b2], [b1], [i0, i0], [s0]\nret []\n",
             "accepted"},
        Case{"b1 = call_fresh 0, [], [], [], 1, [0], [f32], [2]\nb2 = call 0, [b1], [], [], 1, "
             "[0], [f32], [2]\n"
             "run r0, [b0], [b1], [i0, i0], [s0]\nret []\n",
             "a buffer that is not the Plan's"},
        Case{"b1 = host_alloc f32, [i0, i0]\nb2 = call_fresh 0, [b1], [], [], 1, [0], [f32], [0]\n"
             "ret []\n",
             "read before it is written"},
        Case{"b1 = alloc f32, [i0, i0]\nundefined b1\n"
             "b2 = call_fresh 0, [b1], [], [], 1, [0], [f32], [0]\nret []\n",
             "a temporary leaves the Plan"},
        Case{"b1 = alloc f32, [i0, i0]\nb2 = transpose b1, [1, 0]\n"
             "run r0, [b0], [b2], [i0, i0], [s0]\nret []\n",
             "accepted"},
        Case{"b1 = alloc f32, [i0, i0]\nb2 = slice b1, [i0, i0], [i0, i0], [i0, i0]\n"
             "run r0, [b0], [b2], [i0, i0], [s0]\nret []\n",
             "a part is written before the whole"},
        Case{"b1 = alloc f32, [i0, i0]\nundefined b1\nb2 = transpose b1, [1, 0]\n"
             "run r0, [b0], [b2], [i0, i0], [s0]\nret []\n",
             "accepted"},
        Case{"b1 = alloc f32, [i0, i0]\nrun r0, [b0], [b1], [i0, i0], [s0]\n"
             "run r0, [b1], [b1], [i0, i0], [s0]\nret []\n",
             "accepted"},
        Case{"b1 = alloc f32, [i0, i0]\nrun r0, [b0], [b1], [i0, i0], [s0]\n"
             "b2 = transpose b1, [1, 0]\nrun r0, [b2], [b1], [i0, i0], [s0]\nret []\n",
             "a Region writes what it reads"},
        Case{"b1 = alloc f32, [i0, i0]\nfold scan, sub, [b0], b1, 0\nret []\n", "accepted"},
        Case{"b1 = alloc f32, [i0, i0]\nfold argmax, sub, [b0], b1, 0\nret []\n",
             "no scan or fold"},
        Case{"b1 = alloc f32, [i0, i0]\nwhole scan, [b0], b1, 0\nret []\n",
             "no op of class whole that computes"},
        Case{"b1 = alloc f32, [i0, i0]\nfold scan, neg, [b0], b1, 0\nret []\n",
             "an op that makes no element of two"},
        Case{"b1 = alloc f32, [i0, i0]\nfold fold, sub, [b0], b1, 0\nret []\n",
             "differ from the op's in number"},
        Case{"b1 = alloc f32, [i0, i0]\nfold fold_at, sub, [b0, b0], b1, 0\nret []\n",
             "a buffer of another element type or rank"},
        Case{"b1 = alloc f32, [i0, i0]\nfold scan, sub, [b0], b1, 2\nret []\n",
             "a buffer of another element type or rank"},
        Case{"fold scan, sub, [b0], b0, 0\nret []\n", "an op writes what it reads"},
        Case{"undefined b0\nret []\n", "only what the Plan allocated is undefined"},
        Case{"b1 = alloc f32, [i0, i0]\nb2 = alloc f32, [i0, i0]\n"
             "run r0, [b1], [b2], [i0, i0], [s0]\nret []\n",
             "read before it is written"},
        Case{"b1 = host_alloc f32, [i0, i0]\nret [b1]\n", "read before it is written"},
        Case{"b1 = host_alloc f32, [i0, i0]\nb2 = call 0, [b1], [], [], 1, [0], [f32], [0]\nret "
             "[]\n",
             "read before it is written"},
        Case{"b1 = alloc f32, [i0, i0]\nrun r0, [b0], [b1], [i0, i0], [s0]\nret [b1]\n",
             "a temporary leaves the Plan"},
        Case{"b1 = alloc f32, [i0, i0]\nrun r0, [b0], [b1], [i0, i0], [s0]\n"
             "b2 = transpose b1, [1, 0]\nb3 = call 0, [b2], [], [], 1, [0], [f32], [0]\nret []\n",
             "a temporary leaves the Plan"},
        Case{"free b0\nret []\n", "only buffers the Plan allocated"},
        Case{"b1 = call 0, [], [], [], 1, [0], [f32], [1]\nb2 = transpose b1, [0]\nfree b2\nret "
             "[]\n",
             "only buffers the Plan allocated"},
        Case{"b1 = call 0, [], [], [], 1, [0], [f32], [1]\nfree b1\nret [b1]\n",
             "used after it was freed"},
        Case{"b1 = call 0, [], [], [], 1, [0], [f32], [1]\nfree b1\nfree b1\nret []\n",
             "used after it was freed"},
        Case{"b1 = call 0, [], [], [], 1, [0], [f32], [1]\nb2 = transpose b1, [0]\nfree b1\nret "
             "[b2]\n",
             "used after it was freed"}));

TEST(PlanRules, OfConstants) {
  const auto message = [](const std::string& constant, const std::string& body) -> std::string {
    try {
      parse_plan("plan v1 {\n  constant b0: f32 [1] = " + constant +
                 "\n  callee 0: \"f\"\n  region r0 = graph v1 {\n    %0 = input f32[1]\n"
                 "    %1 = neg(%0) f32[1]\n    return %1\n  }\n" +
                 body + "}\n");
    } catch (const core::Error& error) {
      return error.message();
    }
    return "accepted";
  };
  const auto expect = [&](const char* body, const char* own, const char* host) {
    EXPECT_NE(message("[0x1p+0]", body).find(own), std::string::npos) << message("[1]", body);
    EXPECT_NE(message("\"w\"", body).find(host), std::string::npos) << message("\"w\"", body);
  };
  const char *leaves = "a temporary leaves the Plan", *not_ours = "a buffer that is not the Plan's";
  expect("ret []\n", "accepted", "accepted");
  expect("ret [b0]\n", leaves, "accepted");
  expect("b1 = call 0, [b0], [], [], 1, [0], [f32], [1]\nret []\n", leaves, "accepted");
  expect("run r0, [b0], [b0], [], []\nret []\n", not_ours, not_ours);
  expect("free b0\nret []\n", "only buffers the Plan allocated", "only buffers the Plan allocated");
  EXPECT_NE(message("\"\"", "ret []\n").find("without a name or elements"), std::string::npos);
  EXPECT_NE(message("[0, 0]", "ret []\n").find("not those of the shape"), std::string::npos);
}

Plan valid() {
  return parse_plan(kInputs + std::string("b1 = host_alloc f32, [i0, i0]\n"
                                          "run r0, [b0], [b1], [i0, i0], [s0]\nret [b1]\n}\n"));
}

// What no text can say.
TEST(PlanRules, OfTheRepresentation) {
  auto broken = [](auto breaks) {
    Plan plan = valid();
    breaks(plan);
    return refusal(plan);
  };
  auto expect = [](const std::string& message, const char* rule) {
    EXPECT_NE(message.find(rule), std::string::npos) << message;
  };
  EXPECT_EQ(refusal(valid()), "accepted");
  expect(broken([](Plan& p) { p.code.clear(), p.notes.clear(); }), "the last is not ret");
  expect(broken([](Plan& p) { p.notes.pop_back(); }), "notes and instructions");
  expect(broken([](Plan& p) { p.notes[0] = "a\nb"; }), "one trimmed line");
  expect(broken([](Plan& p) { p.notes[0] = " a"; }), "one trimmed line");
  expect(broken([](Plan& p) { p.pool.push_back(0); }), "left over");
  expect(broken([](Plan& p) { p.pool.pop_back(); }), "past the operand pool");
  expect(broken([](Plan& p) { p.code[1].operands = 1; }), "packed in order");
  expect(broken([](Plan& p) { p.code[0].op = static_cast<PlanOp>(99); }), "no such instruction");
  expect(broken([](Plan& p) { p.code[2].result = 0; }), "a result where there is none");
  expect(broken([](Plan& p) { ++p.sizes; }), "register counts");
  const core::Type number{core::DType::f32, {}};
  const std::byte bytes[4] = {};
  const core::Tensor own = core::own_tensor(core::DType::f32, {}, bytes);
  expect(broken([&](Plan& p) { p.constants = {make_constant(number, "", {})}; }),
         "a constant without elements");
  expect(broken([&](Plan& p) { p.constants = {make_constant(number, "w", own)}; }),
         "a constant with a name is the host's, and no other");
  expect(broken([](Plan& p) { ++p.buffers; }), "register counts");
  expect(broken([](Plan& p) { p.inputs[0].rank = 9; }), "a rank beyond the limit");
  expect(broken([](Plan& p) { p.inputs[0].dtype = static_cast<core::DType>(77); }),
         "no such element type");
  expect(broken([](Plan& p) { p.scalars[0] = static_cast<core::DType>(77); }),
         "no such element type");
  expect(broken([](Plan& p) { p.scalars[0] = core::DType::f64; }),
         "a scalar of another element type");
  expect(broken([](Plan& p) { p.regions[0].region.name = "x"; }), "named by its index");
  expect(broken([](Plan& p) { ++p.regions[0].kernel.input_count; }), "differs from its Region");
}

}  // namespace
}  // namespace dvm::runtime
