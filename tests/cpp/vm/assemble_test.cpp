// What assemble() refuses, and the line it names.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "vm/isa/program.h"
#include "vm/sample_programs.h"

namespace dvm::vm {
namespace {

struct Typo {
  const char* name;
  std::string_view listing, text, replacement;  // the first `text` is replaced
  const char* message;
  core::ErrorCode code = core::ErrorCode::text_syntax;
};

std::ostream& operator<<(std::ostream& out, const Typo& typo) { return out << typo.name; }

const std::vector<Typo> kTypos = {
    {"Version", kFlags, " v1", " v2", "Program, line 1: version 'v2', expected v1",
     core::ErrorCode::text_version},
    {"Keyword", kFlags, "dvm.program", "dvm.graph", "line 1: expected 'program', found 'graph'"},
    {"Target", kFlags, "ascend910b3", "abacus", "line 1: unknown target 'abacus'"},
    {"KernelType", kFlags, "target=0", "target=3", "line 2: integer out of range [0, 2]"},
    {"OtherCores", kFlags, "vmain.aiv", "vmain.aic", "expected 'aiv', found 'aic'"},
    {"BlockDim", kFlags, "block_dim=40", "block_dim=41",
     "block_dim is 41, but the grid makes it 40"},
    {"TileNum", kFlags, "tile_num=40", "tile_num=4", "tile_num is 4, but the grid makes it 40"},
    {"BodyTile", kFlags, "body_tile=1", "body_tile=2", "body_tile is 2, but the grid makes it 1"},
    {"TailTileDiff", kFlags, "tail_tile_diff=0", "tail_tile_diff=1",
     "tail_tile_diff is 1, but the grid makes it 0"},
    {"GridExtent", kFlags, "grid=[40]", "grid=[0]", "line 2: integer out of range"},
    {"GridRank", kFlags, "grid=[40]", "grid=[1,1,1,1,1,1,1,1,40]",
     "line 2: Program exceeds the limit of 8 grid dimensions"},
    {"GridTiles", kFlags, "grid=[40]", "grid=[65536, 65536]",
     "line 2: Program exceeds the limit of 2147483647 tiles"},
    {"LoopFlag", kFlags, "[simd_load", "[load_simd", "line 2: unknown loop flag 'load_simd'"},
    {"GlobalOrder", kFlags, "g1:", "g2:", "line 4: globals are not in order"},
    {"GlobalDType", kFlags, "g1: fp16", "g1: f16", "line 4: unknown dtype 'f16'"},
    {"GlobalUse", kFlags, "written", "rewritten", "line 5: expected 'read', found 'rewritten'"},
    {"InstructionIndex", kFlags, "1: load", "2: load", "line 9: integer out of range [1, 1]"},
    {"Instruction", kFlags, "Add.", "add.",
     "line 11: unknown instruction 'add'; did you mean 'Add'?"},
    {"DType", kFlags, "Add.fp16", "Add.bf8", "line 11: unknown dtype 'bf8'"},
    {"Size", kFlags, "Add.fp16.832", "Add.fp16.0", "line 11: integer out of range"},
    {"MemoryUnit", kFlags, "load.u8", "load.fp16", "line 7: expected 'u8', found 'fp16'"},
    {"MemorySize", kFlags, "1664x1", "1663x1", "1663 bytes are no whole number of fp16"},
    {"MemoryTail", kFlags, "iter_tail(640)", "iter_tail(641)",
     "641 bytes are no whole number of fp16"},
    {"OperandCount", kFlags, "0xf00, 0x200, 0x880", "0xf00, 0x200",
     "line 12: expected ',', found '{'"},
    {"Global", kFlags, "0x200, g0", "0x200, g7", "line 7: there is no global g7"},
    {"LoadFromSlot", kFlags, "g0 // tile_stride(1664),", "0x300 //",
     "the operand in global memory is no global"},
    {"Attribute", kFlags, "pad_size", "bad_size",
     "line 7: attribute 'bad_size' means nothing here"},
    {"AttributeTwice", kFlags, "pad_size(0)", "pad_size(0), pad_size(0)",
     "line 7: pad_size is given twice"},
    {"AttributeElsewhere", kFlags, "pad_size(0)", "cmp_type(lt)",
     "line 7: attribute 'cmp_type' means nothing here"},
    {"PadSize", kFlags, "pad_size(0)", "pad_size(1)", "line 7: integer out of range [0, 0]"},
    {"DbgSize", kFlags, "dbg_size(65536)", "dbg_size(65535)",
     "dbg_size is 65535, but all tiles store 65536 bytes"},
    {"NoStride", kFlags, "tile_stride(1664), ", "", "tile_stride is missing"},
    {"StrideCount", kFlags, "tile_stride(1664)", "tile_stride(1664, 2)",
     "line 7: expected ')', found ','"},
    {"Pipe", kFlags, "{simd,", "{load,", "line 12: expected 'simd', found 'load'"},
    {"Flag", kFlags, "simd_load_sync", "nose_load_sync", "line 8: unknown flag 'nose_load_sync'"},
    {"Event", kFlags, "sync(wait, 0)", "sync(wait, 8)", "line 8: integer out of range [0, 7]"},
    {"SetOrWait", kFlags, "sync(wait, 0)", "sync(await, 0)", "a flag cannot await"},
    {"Trailing", kFlags, "  }\n}\n", "  }\n}\nx", "line 17: expected the end of the text"},
    {"Cut", kFlags, "{store, simd", "", "line 14: expected '{', found '_store_sync'"},
    {"Literal", kCpu, "g0, 0.5", "g0, half", "line 7: expected a number, found 'half'"},
    {"NanBits", kCpu, "nan(0x7fc00000)", "nan(0x1)", "line 17: these bits are no NaN"},
    {"BoolLiteral", kCpu, "0x200, 0x180, 0x0", "0x200, 2, 0x0", "integer out of range [0, 1]"},
    {"Ordering", kCpu, "cmp_type(ge)", "cmp_type(geq)", "'geq' is not an ordering"},
    {"NoOrdering", kCpu, ", cmp_type(ge)", "", "cmp_type is missing"},
    {"Order", kCpu, "order(sequential)", "order(random)", "'random' is not an order of summation"},
    {"NoOrder", kCpu, ", order(sequential)", "", "order is missing"},
    {"NoView", kCpu, "view(4:32, 8:4), ", "", "view is missing"},
    {"ViewRank", kCpu, "view(4:32, 8:4)", "view(1:1,1:1,1:1,1:1,1:1,1:1,1:1,4:32,8:4)",
     "more than 8 view dims"},
    {"Split", kCpu, "iter_tail(m:3)", "iter_tail(k:3)", "'k' is no extent"},
    {"Elements", kCpu, "4x8x1", "65536x65536x65536", "more than 2147483647 elements"},
    {"NoBrace", kFlags, "{load, simd_load_sync(wait, 0)", "", "line 8: expected '{', found '}'"},
    // Rules of the ISA, reported at the line of the instruction.
    {"Verified", kFlags, "0x880, g1", "0x890, g1",
     "Program, line 9: instruction 1 (load): slot of operand 0 at 2192 is not aligned to 32",
     core::ErrorCode::bytecode_invalid},
    {"VerifiedHeader", kFlags, "local_bytes=0x1580", "local_bytes=1",
     "Program, line 1: local memory of 1 bytes", core::ErrorCode::bytecode_header},
};

class AssembleTypo : public testing::TestWithParam<Typo> {};

TEST_P(AssembleTypo, IsNamed) {
  const Typo& typo = GetParam();
  std::string text(typo.listing);
  const size_t at = text.find(typo.text);
  ASSERT_NE(at, text.npos);
  text.replace(at, typo.text.size(), typo.replacement);
  try {
    assemble(text);
    FAIL() << "assembled";
  } catch (const core::Error& error) {
    EXPECT_NE(error.message().find(typo.message), std::string::npos) << error.message();
    EXPECT_EQ(error.code(), typo.code);
  }
}

INSTANTIATE_TEST_SUITE_P(All, AssembleTypo, testing::ValuesIn(kTypos),
                         [](const auto& typo) { return std::string(typo.param.name); });

TEST(Assemble, RefusesMoreSyncsThanAnInstructionHolds) {
  std::string text(kWorkedExample);
  std::string syncs = "{load";
  for (int i = 0; i < 300; ++i) syncs += ", simd_load_sync(wait, 0)";
  text.replace(text.find("{load"), 5, syncs);
  try {
    assemble(text);
    FAIL() << "assembled";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.message(),
              "Program, line 8: Program exceeds the limit of 255 words in one instruction");
  }
}

// Elementwise instructions take over the tail of the latest result of their size.
TEST(Assemble, TailsAreInheritedUnlessGiven) {
  const auto inherited = assemble(kWorkedExample);
  std::string text(kWorkedExample);
  const std::string add = "0xf00, 0x200, 0x880";
  text.replace(text.find(add), add.size(), add + " // iter_tail(320)");
  EXPECT_EQ(assemble(text), inherited);
  text.replace(text.find("iter_tail(320)"), 14, "iter_tail(0)");
  EXPECT_NE(assemble(text), inherited);
}

}  // namespace
}  // namespace dvm::vm
