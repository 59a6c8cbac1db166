// The rules of loops, tails along several axes, memories and gathers: a listing that breaks one,
// and the message that says so. Others of verify() are broken word by word in verify_test.cpp.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "vm/isa/program.h"
#include "vm/loop_programs.h"

namespace dvm::vm {
namespace {

struct Break {
  const char* name;
  std::string_view listing;
  const char *from, *to;  // the first occurrence
  const char* message;
};

std::ostream& operator<<(std::ostream& out, const Break& rule) { return out << rule.name; }

constexpr std::string_view kMatmul = kMatmulExample, kNested = kNestedExample,
                           kCarried = kCarriedExample, kGather = kGatherExample;

const std::vector<Break> kBreaks = {
    {"UnlistedLoop", kCarried, "loops=[4]", "loops=[5]",
     "line 8: loops does not list loop 0 of 4 steps"},
    {"LoopOfTheListMissing", kCarried, "loops=[4]", "loops=[4, 2]", "expected ',', found ')'"},
    {"BodyTooLong", kCarried, "body(3)", "body(6)",
     "dbg_size is 28, but all tiles store 112 bytes"},
    {"NoBody", kCarried, " // body(3)", "", "body is missing"},
    {"BodyOfNothing", kCarried, "body(3)", "body(0)", "integer out of range"},
    {"LoopsCross", kNested, "body(6)", "body(4)", "loop 0 ends within another"},
    {"TailOfAxis", kMatmul, "0:4@1", "0:4@2", "a tail along axis 2, which means nothing here"},
    {"TailOfLoop", kMatmul, "1:2@loop0", "1:2@loop1",
     "a tail along axis 9, which means nothing here"},
    {"TailOutsideOfItsLoop", kCarried, "Copy.fp32.1 0x200, -inf\n",
     "Copy.fp32.1 0x200, -inf // iter_tail(size:1@loop0)\n",
     "a tail along axis 8, which means nothing here"},
    {"LoopWithoutStrides", kTwoAxesExample, "grid=[1], ", "grid=[1], loops=[2], ",
     "expected ',', found ')'"},
    {"TailTwice", kMatmul, "n:6; m:4@1; size:2@loop0", "n:6; m:4@1; m:2@loop0",
     "tails are not in the order of extents, one for each"},
    {"TailTooLong", kMatmul, "n:6; m:4@1", "n:6; m:40@1", "tail 40 is outside [1, 32]"},
    {"NoSuchAxis", kMatmul, "0:4@1", "0:4@rows", "'rows' is no axis"},
    {"StreamBeyondALoop", kMatmul, "tile_stride(6400, 0, 64)", "tile_stride(6400, 0, 68)",
     "operand 1 touches bytes [19404, 20012) of global g0, which has [0, 20000)"},
    {"StreamOutsideOfItsLoop", kMatmul, "tile_stride(8960, 128, 0)", "tile_stride(8960, 128, 4)",
     "operand 0 moves along loop 0, which the instruction is not in"},
    {"AddsElsewhere", kMatmul, "adds(0)", "adds(1)",
     "adds in the steps of loop 1, which it is not in"},
    {"AddsToNothing", kMatmul, "adds(0)", "adds(always)", "that nothing has written"},
    {"Products", kNested, "Matmul.fp32.fp16", "Matmul.i32.fp16", "makes no i32 of products of f16"},
    {"RoundsHalves", kNested, "adds(0)", "adds(0), rounds(bf16)", "rounds factors that are no f32"},
    {"RoundsToOthers", kMatmul, "adds(0)", "adds(0), rounds(f16)",
     "factors are rounded to bf16 or bf16x2"},
    {"LeftIsRight", kMatmul, "l0a:0x0, l0b:0x0", "l0b:0x0, l0b:0x0",
     "operand 1 lies in l0b, which the cube pipe does not read there"},
    {"SumsInUb", kMatmul, "l0c:0x0, l0a", "0x200, l0a",
     "operand 0 lies in ub, which the cube pipe does not write there"},
    {"MemoryEnd", kMatmul, "l0a:0x0, g0", "l0a:0xfe00, g0",
     "takes bytes [65024, 67072), l0a is [0, 65536)"},
    {"MemoryAlign", kMatmul, "l0a:0x0, g0", "l0a:0x20, g0", "at 32 is not aligned to 512"},
    {"CarriesTwice", kMatmul, "cube_load_sync(carry, 7)",
     "cube_load_sync(carry, 7), cube_load_sync(carry, 7)",
     "carries cube_load flag 7, which is set already"},
    {"StepWithoutWait", kMatmul, ", cube_load_sync(wait, 7)", "",
     "ends loop 0, a step of which sets cube_load flag 7 1 times more than it waits"},
    {"StepWithoutSet", kMatmul, ", cube_load_sync(set, 7)", "",
     "ends loop 0, a step of which sets cube_load flag 7 -1 times more than it waits"},
    {"WaitBehindALoop", kMatmul, ", cube_fix_sync(set, 0)", "",
     "waits for cube_fix flag 0, which nothing has set"},
    {"OnlyLoopsCarry", kMatmul, "cube_load_sync(wait, 7)", "cube_load_sync(carry, 7)",
     "carries cube_load flag 7, as only loops do"},
    {"OrderOfALoopsFlags", kMatmul, "fix_cube_sync(wait, 0), cube_fix_sync(set, 0)",
     "cube_fix_sync(set, 0), fix_cube_sync(wait, 0)",
     "waits come first, then sets, then what a loop carries"},
    {"NoSuchFlag", kMatmul, "cube_fix_sync(set, 0)", "fix_simd_sync(set, 0)",
     "a flag has bits set that mean nothing"},
    {"RowsWithoutATail", kTwoAxesExample, "Sum.fp32.6x8x1 0x300, 0x200 // order(lanes)",
     "Neg.fp32.2x4 0x300, 0x200", "m is 2, but there is no tail"},
    {"IndexedDim", kGather, "index(0:9)", "index(2:9)", "indexes dim 2 with 9 indices"},
    {"TableEnd", kGather, "index(0:9)", "index(0:10)",
     "operand 1 touches bytes [0, 280) of global g1, which has [0, 252)"},
    {"NoIndex", kGather, ", index(0:9)", "", "index is missing"},
    {"IndicesOfTooFew", kGather, "load.u8.40x1 0x200, g0", "load.u8.32x1 0x200, g0",
     "operand 2 reads slot bytes [512, 552) that nothing has written"},
};

class BrokenLoop : public testing::TestWithParam<Break> {};

TEST_P(BrokenLoop, IsNamed) {
  const Break& rule = GetParam();
  std::string text(rule.listing);
  ASSERT_NO_THROW(assemble(text));
  const size_t at = text.find(rule.from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string_view(rule.from).size(), rule.to);
  try {
    assemble(text);
    FAIL() << "assembled";
  } catch (const core::Error& error) {
    EXPECT_NE(error.message().find(rule.message), std::string::npos) << error.message();
    EXPECT_EQ(core::error_info(error.code()).python_class, "FormatError");
  }
}

INSTANTIATE_TEST_SUITE_P(All, BrokenLoop, testing::ValuesIn(kBreaks),
                         [](const auto& rule) { return std::string(rule.param.name); });

// Indices and results are dense, however the view goes through the table.
TEST(BrokenLoops, GathersInPlaceStayWithinTheirGlobals) {
  const auto listing = [](const std::string& results, const std::string& indices) {
    return R"(dvm.program v1 target=cpu {
  // target=0, block_dim=1, ffts_addr=0, tile_num=1, grid=[1], local_bytes=0x0, loop_flags=[]
  g0: fp32 [0, 252) read
  g1: i64 [0, )" +
           indices + R"() read
  g2: fp32 [0, )" +
           results + R"() written
  vmain.aiv(body_tile=1, tail_tile_diff=0) {
    0: Gather.fp32.35 g2, g0, g1 // view(5:28, 7:0), tile_stride(0; 0; 0), index(0:9)
         {load}
  }
}
)";
  };
  EXPECT_NO_THROW(assemble(listing("140", "40")));
  EXPECT_THROW(assemble(listing("139", "40")), core::Error);
  EXPECT_THROW(assemble(listing("140", "39")), core::Error);
}

TEST(BrokenLoops, NameTheMemoryThatATargetLacks) {
  try {
    assemble(for_cpu(kNestedExample));
    FAIL() << "assembled";
  } catch (const core::Error& error) {
    EXPECT_NE(error.message().find("operand 0 lies in l1, which target cpu lacks"),
              std::string::npos)
        << error.message();
  }
}

}  // namespace
}  // namespace dvm::vm
