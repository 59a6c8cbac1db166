// The printed form of Programs: the worked example of the paper, and what has to read back.
#include "vm/text/listing.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "core/error.h"
#include "vm/isa/program_builder.h"
#include "vm/loop_programs.h"
#include "vm/sample_programs.h"

namespace dvm::vm {
namespace {

// What the encoder has to produce for it.
std::vector<uint64_t> worked_example() {
  std::vector<uint64_t> words(256);
  const int64_t grid[] = {40}, stride[] = {1664};
  ProgramBuilder builder(*find_target("ascend910b3"), words, grid);
  for (uint8_t written : {0, 0, 1}) builder.add_global({0, 65536, DType::f16, written, {}});
  auto insn = [](Insn name) {
    return Instruction{.insn = name,
                       .dtype = DType::f16,
                       .split = static_cast<uint8_t>(Split::size),
                       .size = 832,
                       .tail = 320};
  };
  auto wait = [](Pipe src, Pipe dst) { return Sync{0, src, dst, 0, 0}; };
  auto set = [](Pipe src, Pipe dst) { return Sync{1, src, dst, 0, 0}; };
  using enum Pipe;
  builder.append(insn(Insn::load), {{slot_operand(0x200), builder.stream(0, 0, stride)}},
                 {{wait(simd, load)}});
  builder.append(insn(Insn::load), {{slot_operand(0x880), builder.stream(1, 0, stride)}},
                 {{set(load, simd)}});
  builder.append(insn(Insn::add), {{slot_operand(0xf00), slot_operand(0x200), slot_operand(0x880)}},
                 {{wait(load, simd), wait(store, simd), set(simd, store), set(simd, load)}});
  builder.append(insn(Insn::store), {{builder.stream(2, 0, stride), slot_operand(0xf00)}},
                 {{wait(simd, store), set(store, simd)}});
  const auto size = builder.finish(0x1580, simd_to_load | store_to_simd).words().size();
  words.resize(size);
  return words;
}

TEST(Listing, PrintsTheWorkedExampleOfThePaper) {
  const auto words = worked_example();
  verify(words);
  EXPECT_EQ(disassemble(Program(words)), kWorkedExample);
}

TEST(Listing, ReadsTheWorkedExampleBack) { EXPECT_EQ(assemble(kWorkedExample), worked_example()); }

TEST(Listing, StreamsViewsAndScalarsReadBack) {
  for (const std::string_view listing : {kStreamedExample, kChainExample}) {
    const auto words = assemble(listing);
    EXPECT_EQ(disassemble(Program(words)), listing);
  }
}

TEST(Listing, LoopsAndMemoriesReadBack) {
  for (const std::string_view listing : kLoopExamples) {
    EXPECT_EQ(disassemble(Program(assemble(listing))), listing);
  }
}

TEST(Listing, IgnoresBlanksAndComments) {
  std::string text = "# a comment\n" + std::string(kWorkedExample) + "# the end";
  for (size_t at = 0; (at = text.find("0: load", at)) != std::string_view::npos; at += 20) {
    text.replace(at, 3, "0 :\t# first\r\n ");
  }
  EXPECT_EQ(assemble(text), worked_example());
}

class ScalarText : public testing::TestWithParam<int> {};

TEST_P(ScalarText, ReadsBackToTheSameBits) {
  const auto dtype = static_cast<DType>(GetParam());
  const int width = 8 * core::byte_size(dtype);
  const uint64_t mask = ~uint64_t{0} >> (64 - width);
  // Patterns of every exponent, both signs, and the neighbours of powers of two.
  std::vector<uint64_t> patterns;
  for (int low = 0; low < width; ++low) {
    for (int high = low; high < width; ++high) {
      const uint64_t run = (mask >> (width - 1 - (high - low))) << low;
      for (uint64_t bits : {run, ~run, run + 1, run - 1}) patterns.push_back(bits & mask);
    }
  }
  for (uint64_t bits : patterns) {
    if (dtype == DType::boolean) bits &= 1;
    const std::string text = listing_scalar(dtype, bits);
    core::TextLexer in("test", text);
    EXPECT_EQ(parse_listing_scalar(in, dtype), bits) << text;
    EXPECT_TRUE(in.at_end()) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryDType, ScalarText, testing::Range(0, core::kDTypeCount));

TEST(Listing, PrintsScalarsShort) {
  auto text = [](DType dtype, double value) {
    return listing_scalar(dtype, scalar_pool_bits(dtype, Scalar::of_float(value)));
  };
  EXPECT_EQ(text(DType::f32, 0.1), "0.1");
  EXPECT_EQ(text(DType::f16, 0.1), "0.1");
  EXPECT_EQ(text(DType::f64, 1e-5), "1e-05");
  EXPECT_EQ(text(DType::f32, -0.0), "-0");
  EXPECT_EQ(text(DType::f32, -std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(listing_scalar(DType::f32, 0xffc00001), "-nan(0x7fc00001)");
}

}  // namespace
}  // namespace dvm::vm
