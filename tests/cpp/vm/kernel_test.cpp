// prepare(): what becomes of each kind of node.
#include "vm/tile/kernel.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "region_util.h"

namespace dvm::vm {
namespace {

// "add:f32 2 <- 0 1" per step.
std::vector<std::string> steps_of(const Kernel& kernel) {
  std::vector<std::string> lines;
  for (const KernelStep& step : kernel.steps) {
    std::string line = std::string(info(step.insn).name) + ":" +
                       std::string(core::to_string(step.dtype)) + " " + std::to_string(step.dst) +
                       " <-";
    for (int k = 0; k < step.arity; ++k) line += " " + std::to_string(step.src[k]);
    lines.push_back(line);
  }
  return lines;
}
using Lines = std::vector<std::string>;

TEST(Kernel, ScalarsAndTheirBroadcastsBecomeOperands) {
  const Kernel kernel = prepare(region_of(R"(
    %0 = input f32[s0]
    %1 = scalar f32[]
    %2 = broadcast(%1) f32[s0]
    %3 = mul(%0, %2) f32[s0]
    %4 = constant f32[] {value = 0x1p-1}
    %5 = broadcast(%4) f32[s0]
    %6 = add(%5, %3) f32[s0]
    return %6)"));
  EXPECT_EQ(steps_of(kernel), (Lines{"mul:f32 2 <- 0 1", "add:f32 4 <- 3 2"}));
  ASSERT_EQ(kernel.scalars.size(), 2u);
  EXPECT_EQ(kernel.scalars[0].kind, KernelScalar::Kind::argument);
  EXPECT_EQ(kernel.scalars[1].value, Scalar::of_float(0.5));
  EXPECT_EQ(kernel.scalar_count, 1);
}

TEST(Kernel, FoldsOneCastOfAScalar) {
  const Kernel kernel = prepare(region_of(R"(
    %0 = input f32[s0]
    %1 = scalar f64[]
    %2 = cast(%1) f32[]
    %3 = broadcast(%2) f32[s0]
    %4 = mul(%0, %3) f32[s0]
    %5 = cast(%1) f16[]
    %6 = cast(%5) f32[]
    %7 = broadcast(%6) f32[s0]
    %8 = mul(%4, %7) f32[s0]
    return %8)"));
  EXPECT_EQ(steps_of(kernel), (Lines{"mul:f32 3 <- 0 2", "copy:f16 5 <- 4", "cast:f32 6 <- 5",
                                     "broadcast:f32 7 <- 6", "mul:f32 8 <- 3 7"}));
  EXPECT_EQ(kernel.scalars[1].source, DType::f64);
  EXPECT_EQ(kernel.scalars[1].dtype, DType::f32);
  EXPECT_EQ(cast_scalar(Scalar::of_float(0.1), DType::f64, DType::f32), Scalar::of_float(0.1f));
  EXPECT_EQ(cast_scalar(Scalar::of_float(-2.7), DType::f64, DType::i32), Scalar::of_int(-2));
  EXPECT_EQ(cast_scalar(Scalar::of_int(7), DType::i64, DType::boolean), Scalar::of_int(1));
}

TEST(Kernel, EveryStepHasATensorOperand) {
  const Kernel kernel = prepare(region_of(R"(
    %0 = scalar f32[]
    %1 = scalar f32[]
    %2 = add(%0, %1) f32[]
    %3 = broadcast(%2) f32[s0]
    %4 = broadcast(%0) f32[s0]
    return %3, %4)"));
  EXPECT_EQ(steps_of(kernel), (Lines{"copy:f32 2 <- 0", "add:f32 3 <- 2 1", "broadcast:f32 4 <- 3",
                                     "copy:f32 5 <- 0"}));
  EXPECT_EQ(kernel.outputs, (std::vector<int16_t>{4, 5}));
}

TEST(Kernel, CarriesOrderingsDtypesAndAxes) {
  const core::Region region = region_of(R"(
    %0 = input f16[s1]
    %1 = input f16[s0, s1]
    %2 = broadcast(%0) f16[s0, s1]
    %3 = ge(%1, %2) bool[s0, s1]
    %4 = select(%3, %1, %2) f16[s0, s1]
    %5 = cast(%4) f32[s0, s1]
    %6 = sum(%5) f32[s0, 1] {axes = [1]}
    return %6)");
  const Kernel kernel = prepare(region);
  EXPECT_EQ(steps_of(kernel),
            (Lines{"broadcast:f16 2 <- 0", "cmp:f16 3 <- 1 2", "select:f16 4 <- 3 1 2",
                   "cast:f32 5 <- 4", "sum:f32 6 <- 5"}));
  EXPECT_EQ(kernel.steps[1].aux, static_cast<uint8_t>(Compare::ge));
  EXPECT_EQ(kernel.steps[3].aux, static_cast<uint8_t>(DType::f16));
  EXPECT_EQ(kernel.steps[4].axes, 0b10);
  const KernelShape& lead = kernel.shapes[kernel.values[0].shape];
  EXPECT_EQ(lead[0], kUnit) << "aligned to the Region's rank";
  EXPECT_EQ(core::to_string(kernel.dims[lead[1]]), "s1");
}

TEST(Kernel, LeavesOutWhatNoOutputNeedsButKeepsOperandNumbers) {
  const Kernel kernel = prepare(region_of(R"(
    %0 = input f32[s0, s0]
    %1 = scalar f32[]
    %2 = scalar f32[]
    %3 = input f32[s0]
    %4 = exp(%0) f32[s0, s0]
    %5 = broadcast(%2) f32[s0]
    %6 = add(%3, %5) f32[s0]
    return %6)"));
  EXPECT_EQ(steps_of(kernel), (Lines{"add:f32 2 <- 1 0"}));
  EXPECT_EQ(kernel.input_count, 2);
  EXPECT_EQ(kernel.scalar_count, 2);
  EXPECT_EQ(kernel.values[1].index, 1);
  EXPECT_EQ(kernel.scalars[0].index, 1);
  EXPECT_EQ(kernel.rank, 2) << "strides of unused operands are aligned to it too";
}

// The parts of a softmax, and of what needs one more value than the reductions: each ends with its
// reductions, and what is computed from memory that is there anyway is computed late.
TEST(Kernel, IsCutWhereReductionsFeedSteps) {
  const std::string softmax = R"(
    %0 = input f32[s0, s1]
    %1 = max(%0) f32[s0, 1] {axes = [1]}
    %2 = broadcast(%1) f32[s0, s1]
    %3 = sub(%0, %2) f32[s0, s1]
    %4 = exp(%3) f32[s0, s1]
    %5 = sum(%4) f32[s0, 1] {axes = [1]}
    %6 = broadcast(%5) f32[s0, s1]
    %7 = div(%4, %6) f32[s0, s1]
    )";
  const auto parts_of = [](const Kernel& kernel) {
    std::vector<Lines> parts;
    for (const Kernel& part : kernel.parts) parts.push_back(steps_of(part));
    return parts;
  };
  const Kernel kernel = prepare(region_of(softmax + "return %7"));
  EXPECT_EQ(kernel.steps.size(), 7u);
  EXPECT_EQ(kernel.kept, (std::vector<int16_t>{1, 4, 5}));
  EXPECT_EQ(parts_of(kernel),
            (std::vector<Lines>{{"max:f32 1 <- 0"},
                                {"broadcast:f32 2 <- 1", "sub:f32 3 <- 0 2", "exp:f32 4 <- 3"},
                                {"sum:f32 5 <- 4"},
                                {"broadcast:f32 6 <- 5", "div:f32 7 <- 4 6"}}));
  for (const Kernel& part : kernel.parts) EXPECT_TRUE(part.parts.empty());
  EXPECT_EQ(kernel.parts[0].output_operands, (std::vector<int16_t>{2}));
  EXPECT_EQ(kernel.parts[1].values[1].index, 2) << "read where the part before wrote it";
  EXPECT_EQ(kernel.parts[3].output_operands, (std::vector<int16_t>{1}));

  const Kernel late = prepare(region_of(softmax + "%8 = tanh(%0) f32[s0, s1]\n" +
                                        "%9 = mul(%7, %8) f32[s0, s1]\nreturn %9, %5"));
  EXPECT_EQ(late.kept, (std::vector<int16_t>{1, 4})) << "the sum is an output, tanh can wait";
  EXPECT_EQ(parts_of(late).back(), (Lines{"broadcast:f32 6 <- 5", "div:f32 7 <- 4 6",
                                          "tanh:f32 8 <- 0", "mul:f32 9 <- 7 8"}));
  EXPECT_TRUE(prepare(region_of("%0 = input f32[s0]\n%1 = sum(%0) f32[1] {axes = [0]}\n"
                                "%2 = neg(%0) f32[s0]\nreturn %1, %2"))
                  .parts.empty());
}

TEST(Kernel, RefusesWhatHasNoInstruction) {
  const auto refuses = [](std::string_view text) {
    try {
      prepare(region_of(text));
    } catch (const core::Error& error) {
      return error.code() == core::ErrorCode::unsupported;
    }
    return false;
  };
  EXPECT_TRUE(refuses(R"(%0 = input f32[s0, s1]
    %1 = transpose(%0) f32[s1, s0] {axes = [1, 0]}
    return %1)"));
  core::Region many = region_of("%0 = input f32[s0]\n%1 = neg(%0) f32[s0]\nreturn %1");
  for (int i = 0; i < kMaxSteps; ++i) {
    many.body.outputs[0] = many.body.elementwise(core::Op::neg, many.body.outputs);
  }
  EXPECT_THROW(prepare(many), core::Error);
  core::Region wide = region_of("%0 = input f32[s0]\nreturn %0");
  wide.body.outputs.resize(kMaxGlobals, 0);
  EXPECT_THROW(prepare(wide), core::Error);
}

}  // namespace
}  // namespace dvm::vm
