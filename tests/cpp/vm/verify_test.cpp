// Every rule of verify(): a Program that breaks it, and the message that says so.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "vm/isa/program.h"
#include "vm/sample_programs.h"

namespace dvm::vm {
namespace {

// Write access to the parts of a Program's words.
class Editor {
 public:
  explicit Editor(std::string_view listing) : words(assemble(listing)) {}

  Header& header() { return at<Header>(0); }
  int64_t& grid(size_t d) { return at<int64_t>(6 + d); }
  Global& global(size_t g) { return at<Global>(6 + rank_ + 3 * g); }
  uint64_t& scalar(size_t s) { return words[scalars_ + s]; }
  // Words of a stream: global, offset, strides.
  int64_t& stream(size_t s, size_t word) {
    return at<int64_t>(scalars_ + scalar_count_ + s * (2 + rank_) + word);
  }
  Instruction& insn(int i) { return at<Instruction>(insn_at(i)); }
  Operand& operand(int i, size_t k) { return at<Operand>(insn_at(i) + 3 + k); }
  ViewDim& view(int i, size_t d) {
    return at<ViewDim>(insn_at(i) + 3 + static_cast<size_t>(insn(i).operand_count()) + 2 * d);
  }
  MicroOp& step(size_t k) {  // of instruction 0, a chain
    return at<MicroOp>(insn_at(0) + 3 + static_cast<size_t>(insn(0).operand_count()) + k);
  }
  Sync& sync(int i, size_t k) {
    const Instruction& line = insn(i);
    return at<Sync>(insn_at(i) + line.words - line.syncs + k);
  }
  void pop() { words.pop_back(); }
  void push(uint64_t word) { words.push_back(word); }

  std::vector<uint64_t> words;

 private:
  template <typename T>
  T& at(size_t word) {
    return *reinterpret_cast<T*>(words.data() + word);
  }
  size_t insn_at(int i) {
    size_t word = words.size() - code_words_;
    while (i-- > 0) word += at<Instruction>(word).words;
    return word;
  }

  const size_t rank_ = header().grid_rank, scalar_count_ = header().scalars;
  const size_t scalars_ = 6 + rank_ + 3 * size_t{header().globals};
  const size_t code_words_ = header().code_words;
};

struct Rule {
  const char* name;
  std::string_view listing;
  std::function<void(Editor&)> damage;
  core::ErrorCode code;
  std::string message;
};

std::ostream& operator<<(std::ostream& out, const Rule& rule) { return out << rule.name; }

constexpr auto kHeader = core::ErrorCode::bytecode_header;
constexpr auto kTruncated = core::ErrorCode::bytecode_truncated;
constexpr auto kInvalid = core::ErrorCode::bytecode_invalid;
constexpr std::string_view kChain = kChainExample;
using E = Editor;

constexpr std::string_view kStreamsOfOneGlobal =
    R"(dvm.program v1 target=cpu {
  // target=0, block_dim=1, ffts_addr=0, tile_num=2, grid=[2], local_bytes=0x0, loop_flags=[]
  g0: fp32 [0, 512) read
  g1: fp32 [0, 1024) written
  vmain.aiv(body_tile=2, tail_tile_diff=0) {
    0: Copy.fp32.64 g1, g0 // tile_stride(512; 256)
         {simd}
    1: Copy.fp32.64 g1+256, g0 // tile_stride(512; 256)
         {simd}
    2: Neg.fp32.64 g1+256, g1+256 // tile_stride(512; 512)
         {simd}
  }
}
)";

constexpr std::string_view kViewReadBack =
    R"(dvm.program v1 target=cpu {
  // target=0, block_dim=1, ffts_addr=0, tile_num=2, grid=[2], local_bytes=0x100, loop_flags=[]
  g0: fp32 [0, 384) written
  vmain.aiv(body_tile=2, tail_tile_diff=0) {
    0: Copy.fp32.32 0x0, 0.5
         {simd}
    1: view_store.u8.128x1 g0, 0x0 // view(32:4), tile_stride(256), pad_size(0), dbg_size(256)
         {store}
    2: Add.fp32.32 0x80, g0, 0.5 // tile_stride(256)
         {simd}
  }
}
)";

// Instructions of kFlags: 0 load, 1 load, 2 add, 3 store. Of kCpu: 0 mul, 1 add, 2 sum, 3
// broadcast, 4 sub, 5 cmp, 6 select, 7 cast, 8 view_load, 9 view_store.
const std::vector<Rule> kRules = {
    // The header.
    {"TooShort", kFlags, [](E& e) { e.words.resize(5); }, kTruncated,
     "5 words cannot hold a Program's header"},
    {"Empty", kFlags, [](E& e) { e.words.clear(); }, kTruncated,
     "0 words cannot hold a Program's header"},
    {"Magic", kFlags, [](E& e) { e.header().magic = 7; }, kHeader,
     "magic number 7 is not a Program's"},
    {"Version", kFlags, [](E& e) { e.header().version = 1; }, kHeader,
     "Program version 1, expected 2"},
    {"Target", kFlags, [](E& e) { e.header().target = 200; }, kHeader, "unknown target id 200"},
    {"KernelType", kFlags, [](E& e) { e.header().kernel_type = static_cast<KernelType>(3); },
     kHeader, "unknown kernel type 3"},
    {"KernelTypeOfOtherPipes", kCpu, [](E& e) { e.header().kernel_type = KernelType::mix; },
     kHeader, "kernel type is mix, but the pipes in use make it aiv"},
    {"HeaderZero", kFlags, [](E& e) { e.header().zero[2] = 1; }, kHeader,
     "a reserved header field is not 0"},
    {"Truncated", kFlags, [](E& e) { e.pop(); }, kTruncated,
     "Program has 54 words but 53 are here"},
    {"TrailingWords", kFlags, [](E& e) { e.push(0); }, kHeader,
     "1 words follow the end of the Program"},
    {"GridRank", kFlags, [](E& e) { e.header().grid_rank = 9; }, kHeader, "grid rank 9 exceeds 8"},
    {"GlobalCount", kFlags, [](E& e) { e.header().globals = 65; }, kHeader,
     "65 globals exceed the limit of 64"},
    {"ScalarCount", kFlags, [](E& e) { e.header().scalars = 257; }, kHeader,
     "257 scalars exceed the limit of 256"},
    {"StreamCount", kFlags, [](E& e) { e.header().streams = 129; }, kHeader,
     "129 streams exceed the limit of 128"},
    {"PartsDisagree", kFlags, [](E& e) { e.header().code_words += 1; }, kHeader,
     "tables and code take 55 words, the header says 54"},
    {"CodeBeyondAnything", kFlags, [](E& e) { e.header().code_words = UINT32_MAX; }, kHeader,
     "tables and code take 4294967320 words, the header says 54"},
    // Tiles and local memory.
    {"GridExtent", kFlags, [](E& e) { e.grid(0) = 0; }, kHeader,
     "grid extent 0 is outside [1, 2147483647]"},
    {"GridOverflow", kCpu, [](E& e) { e.grid(0) = e.grid(1) = INT32_MAX; }, kHeader,
     "grid has more than 2147483647 tiles"},
    {"TileCount", kFlags, [](E& e) { e.grid(0) = 39; }, kHeader,
     "grid has 39 tiles, the header says 40"},
    {"BlockDim", kFlags, [](E& e) { e.header().block_dim = 20; }, kHeader,
     "are 20, 1, 0, but 40 tiles on this target need 40, 1, 0"},
    {"BodyTile", kFlags, [](E& e) { e.header().body_tile = 2; }, kHeader, "are 40, 2, 0, but"},
    {"TailTileDiff", kFlags, [](E& e) { e.header().tail_tile_diff = 1; }, kHeader,
     "are 40, 1, 1, but"},
    {"LocalTooSmall", kFlags, [](E& e) { e.header().local_bytes = 511; }, kHeader,
     "local memory of 511 bytes is outside [512, 196608]"},
    {"LocalTooLarge", kFlags, [](E& e) { e.header().local_bytes = 196609; }, kHeader,
     "local memory of 196609 bytes is outside [512, 196608]"},
    {"LoopFlagUnknown", kFlags, [](E& e) { e.header().loop_flags = 128; }, kHeader,
     "loop flags 128 include some that target ascend910b3 does not have"},
    {"LoopFlagOnCpu", kCpu, [](E& e) { e.header().loop_flags = 1; }, kHeader,
     "loop flags 1 include some that target cpu does not have"},
    // Tables.
    {"GlobalDType", kFlags, [](E& e) { e.global(1).dtype = static_cast<DType>(77); }, kInvalid,
     "global g1 has unknown dtype 77"},
    {"GlobalRange", kFlags, [](E& e) { e.global(1).high = -1; }, kInvalid,
     "global g1 ends at byte -1 before its start 0"},
    {"GlobalWrittenBits", kFlags, [](E& e) { e.global(0).written = 2; }, kInvalid,
     "global g0 has bits set that mean nothing"},
    {"GlobalZero", kFlags, [](E& e) { e.global(0).zero[5] = 1; }, kInvalid,
     "global g0 has bits set that mean nothing"},
    {"ScalarRepeated", kCpu, [](E& e) { e.scalar(1) = e.scalar(0); }, kInvalid,
     "scalar 1 repeats an earlier one"},
    {"StreamGlobal", kFlags, [](E& e) { e.stream(1, 0) = 3; }, kInvalid,
     "stream 1 goes through global 3 of 3"},
    {"StreamGlobalNegative", kFlags, [](E& e) { e.stream(1, 0) = -1; }, kInvalid,
     "stream 1 goes through global -1 of 3"},
    {"StreamRepeated", kFlags, [](E& e) { e.stream(1, 0) = 0; }, kInvalid,
     "stream 1 repeats stream 0"},
    {"ScalarUnused", kCpu, [](E& e) { e.operand(5, 2).index = 0; }, kInvalid,
     "scalar 2 is used by no instruction"},
    {"StreamUnused", kCpu,
     [](E& e) {
       e.operand(9, 0) = e.operand(4, 0);
       e.insn(9).dtype = DType::f32;
       e.insn(9).split = 0;
       e.insn(9).tail = 0;
       e.operand(9, 1) = slot_operand(0);
       e.view(9, 0) = {8, 4};
       e.view(9, 1) = {4, 0};
     },
     kInvalid, "stream 2 is used by no instruction"},
    // The fixed part of instructions.
    {"CodeEndsEarly", kFlags,
     [](E& e) {
       e.words.resize(e.words.size() + 2);
       e.header().words += 2;
       e.header().code_words += 2;
     },
     kInvalid, "instruction 4: only 2 words are left of the code"},
    {"Opcode", kFlags, [](E& e) { e.insn(2).insn = static_cast<Insn>(200); }, kInvalid,
     "instruction 2: unknown opcode 200"},
    {"Length", kFlags, [](E& e) { e.insn(2).words = 9; }, kInvalid,
     "instruction 2 (add): length is 9 words, its parts take 10, the code has 17"},
    {"LengthZero", kFlags, [](E& e) { e.insn(2).words = 0; }, kInvalid,
     "length is 0 words, its parts take 10"},
    {"PastTheEnd", kFlags,
     [](E& e) {
       e.insn(3).words = 255;
       e.insn(3).syncs = 250;
     },
     kInvalid, "instruction 3 (store): length is 255 words, its parts take 255, the code has 7"},
    {"DType", kFlags, [](E& e) { e.insn(2).dtype = static_cast<DType>(core::kDTypeCount); },
     kInvalid, "instruction 2 (add): unknown dtype " + std::to_string(core::kDTypeCount)},
    {"DTypeNotNumeric", kCpu, [](E& e) { e.insn(4).dtype = DType::boolean; }, kInvalid,
     "instruction 4 (sub): dtype bool is not one of all but bool"},
    {"DTypeNotFloating", kCpu,
     [](E& e) {
       e.insn(4).insn = Insn::div;
       e.insn(4).dtype = DType::i64;
     },
     kInvalid, "instruction 4 (div): dtype i64 is not one of floating"},
    {"StepsOfLoad", kFlags, [](E& e) { e.insn(0).steps = 1; }, kInvalid,
     "instruction 0 (load): length is 6 words, its parts take 7"},
    {"AuxOfAdd", kFlags, [](E& e) { e.insn(2).aux = 1; }, kInvalid, "aux is 1, outside [0, 1)"},
    {"AuxOfCast", kCpu, [](E& e) { e.insn(7).aux = core::kDTypeCount; }, kInvalid, "outside [0, " + std::to_string(core::kDTypeCount) + ")"},
    {"AuxOfCmp", kCpu, [](E& e) { e.insn(5).aux = 6; }, kInvalid, "aux is 6, outside [0, 6)"},
    {"AuxOfSum", kCpu, [](E& e) { e.insn(2).aux = 2; }, kInvalid, "a reduction to f32 reads no bool on target"},
    {"AuxOfView", kCpu,
     [](E& e) {
       e.insn(8).aux = 0;
       e.insn(8).syncs = 4;
     },
     kInvalid, "aux is 0, outside [1, 9)"},
    // Extents.
    {"LinearM", kFlags, [](E& e) { e.insn(0).m = 2; }, kInvalid, "m and n are 2 and 1, not 1"},
    {"ViewN", kCpu, [](E& e) { e.insn(8).n = 0; }, kInvalid, "m and n are 1 and 0, not 1"},
    {"Extent", kFlags, [](E& e) { e.insn(2).size = 0; }, kInvalid,
     "extent 0 is outside [1, 2147483647]"},
    {"ViewExtent", kCpu, [](E& e) { e.view(8, 0).extent = -4; }, kInvalid,
     "extent -4 is outside [1, 2147483647]"},
    {"Elements", kCpu, [](E& e) { e.insn(2).m = e.insn(2).size = e.insn(2).n = 1 << 30; }, kInvalid,
     "more than 2147483647 elements"},
    {"ViewElements", kCpu, [](E& e) { e.view(8, 0).extent = 5; }, kInvalid,
     "view has 40 elements, size is 32"},
    {"TailWithoutSplit", kCpu, [](E& e) { e.insn(1).split = 0; }, kInvalid,
     "instruction 1 (add): tail is 24 without a split extent"},
    {"SplitOfLinear", kCpu, [](E& e) { e.insn(1).split = 3; }, kInvalid,
     "split 3 names no extent of this format"},
    {"SplitOfTriple", kCpu, [](E& e) { e.insn(2).split = 4; }, kInvalid,
     "split 4 names no extent of this format"},
    {"SplitOfView", kCpu, [](E& e) { e.insn(8).split = 3; }, kInvalid,
     "split 3 names no extent of this format"},
    {"TailZero", kCpu, [](E& e) { e.insn(2).tail = 0; }, kInvalid, "tail 0 is outside [1, 4]"},
    {"TailLarger", kCpu, [](E& e) { e.insn(8).tail = 5; }, kInvalid, "tail 5 is outside [1, 4]"},
    // Operands.
    {"LoadFromSlot", kFlags, [](E& e) { e.operand(0, 1) = slot_operand(0x200); }, kInvalid,
     "instruction 0 (load): operand 1 may not be a slot on target ascend910b3"},
    {"StoreToSlot", kFlags, [](E& e) { e.operand(3, 0) = slot_operand(0x200); }, kInvalid,
     "operand 0 may not be a slot"},
    {"LoadToStream", kFlags, [](E& e) { e.operand(0, 0) = e.operand(0, 1); }, kInvalid,
     "operand 0 may not be a stream"},
    {"StoreScalar", kFlags, [](E& e) { e.operand(3, 1).mode = Mode::scalar; }, kInvalid,
     "operand 1 may not be a scalar"},
    {"StreamOnAscend", kFlags, [](E& e) { e.operand(2, 1) = e.operand(0, 1); }, kInvalid,
     "instruction 2 (add): operand 1 may not be a stream on target ascend910b3"},
    {"ScalarDestination", kCpu, [](E& e) { e.operand(1, 0) = e.operand(1, 2); }, kInvalid,
     "operand 0 may not be a scalar"},
    {"ScalarOfReduce", kCpu, [](E& e) { e.operand(2, 1) = e.operand(1, 2); }, kInvalid,
     "instruction 2 (sum): operand 1 may not be a scalar on target cpu"},
    {"Mode", kCpu, [](E& e) { e.operand(1, 1).mode = static_cast<Mode>(9); }, kInvalid,
     "operand 1 may not be a mode 9"},
    {"OperandAccess", kFlags, [](E& e) { e.operand(2, 1).access = 1; }, kInvalid,
     "operand 1 has access 1, which means nothing"},
    {"SlotIndex", kFlags, [](E& e) { e.operand(2, 1).index = 1; }, kInvalid,
     "operand 1 lies in l1, which the simd pipe does not read there"},
    {"StreamOffset", kFlags, [](E& e) { e.operand(0, 1).offset = 8; }, kInvalid,
     "operand 1 has bits set that mean nothing"},
    {"Rows", kFlags, [](E& e) { e.operand(0, 1) = rows_operand(e.operand(0, 1), 8); }, kInvalid,
     "operand 1 has rows that lie apart, which only chains and reductions use"},
    {"RowsOfLanes", kCpu,
     [](E& e) {
       e.insn(2).aux = static_cast<uint8_t>(ReduceOrder::lanes);
       e.insn(2).m /= 2;
       e.insn(2).n *= 2;
       e.insn(2).tail = 2;
       e.operand(2, 1) = rows_operand(e.operand(0, 1), 32);
     },
     kInvalid,
     "instruction 2 (sum): operand 1 has rows that lie apart, of which a reduction in the order of "
     "lanes has M = 1 or N = 1"},
    {"RowsTogether", kFlags, [](E& e) { e.operand(0, 1) = rows_operand(e.operand(0, 1), 0); },
     kInvalid, "operand 1 has rows that lie 0 bytes apart"},
    {"ScalarIndex", kCpu, [](E& e) { e.operand(5, 2).index = 3; }, kInvalid, "scalar 3 of 3"},
    {"ScalarOrder", kCpu, [](E& e) { std::swap(e.operand(0, 2).index, e.operand(1, 2).index); },
     kInvalid, "instruction 0 (mul): scalar 1 is used before 0"},
    {"ScalarWidth", kCpu, [](E& e) { e.scalar(1) |= uint64_t{1} << 32; }, kInvalid,
     "instruction 1 (add): scalar 1 is no f32"},
    {"ScalarBool", kCpu,
     [](E& e) { e.operand(6, 1) = e.operand(0, 2); }, kInvalid,
     "instruction 6 (select): scalar 0 is no bool"},
    {"SlotAlignment", kFlags, [](E& e) { e.operand(1, 0).offset = 0x890; }, kInvalid,
     "instruction 1 (load): slot of operand 0 at 2192 is not aligned to 32"},
    {"SlotInReserve", kFlags, [](E& e) { e.operand(0, 0).offset = 0x1e0; }, kInvalid,
     "slot of operand 0 takes bytes [480, 2144), local memory is [512, 5504)"},
    {"SlotBeyondLocal", kFlags, [](E& e) { e.header().local_bytes = 0x157f; }, kInvalid,
     "instruction 2 (add): slot of operand 0 takes bytes [3840, 5504), local memory is [512, 5503)"},
    {"SlotHugeOffset", kFlags, [](E& e) { e.operand(2, 0).offset = 0xffffffe0; }, kInvalid,
     "takes bytes [4294967264, 4294968928)"},
    {"StreamIndex", kFlags, [](E& e) { e.operand(3, 0).index = 3; }, kInvalid, "stream 3 of 3"},
    {"StreamOrder", kFlags, [](E& e) { std::swap(e.operand(0, 1), e.operand(1, 1)); }, kInvalid,
     "instruction 0 (load): stream 1 is used before 0"},
    {"StreamDType", kFlags, [](E& e) { e.global(1).dtype = DType::f32; }, kInvalid,
     "instruction 1 (load): operand 1 is f16, global g1 is f32"},
    {"WritesReadOnly", kFlags, [](E& e) { e.global(2).written = 0; }, kInvalid,
     "instruction 3 (store): writes global g2, which is read-only"},
    {"ReadsWritten", kFlags, [](E& e) { e.global(0).written = 1; }, kInvalid,
     "instruction 0 (load): reads bytes of written global g0 that this tile has not written"},
    {"ReadsMoreThanWritten", kCpu,
     [](E& e) {
       e.insn(5).size = 33;
       e.insn(5).tail = 24;
     },
     kInvalid, "instruction 5 (cmp): reads bytes of written global g1"},
    {"ReadsBetweenWhatAViewWrote", kViewReadBack,
     [](E& e) {
       e.view(1, 0).stride = 8;
       e.global(0).high = 508;
     },
     kInvalid, "instruction 2 (add): reads bytes of written global g0 that this tile has not written"},
    // What tiles write together.
    {"TilesWriteTheSame", kFlags, [](E& e) { e.stream(2, 2) = 0; }, kInvalid,
     "tiles write the same bytes of global g2"},
    {"TilesOverlap", kFlags, [](E& e) { e.stream(2, 2) = 1600; }, kInvalid,
     "tiles write the same bytes of global g2"},
    {"EndsUnwritten", kFlags, [](E& e) { e.global(2).high += 2; }, kInvalid,
     "of global g2 bytes [0, 65536) are written, but it has [0, 65538)"},
    // Alignment and bounds of streams over the grid.
    {"OffsetAlignment", kFlags, [](E& e) { e.stream(0, 1) = 1; }, kInvalid,
     "instruction 0 (load): stream of operand 1 is not aligned to its elements of 2 bytes"},
    {"StrideAlignment", kFlags, [](E& e) { e.stream(0, 2) = 1663; }, kInvalid,
     "stream of operand 1 is not aligned to its elements of 2 bytes"},
    {"ViewAlignment", kCpu, [](E& e) { e.view(8, 1).stride = 6; }, kInvalid,
     "instruction 8 (view_load): stream of operand 1 is not aligned to its elements of 4 bytes"},
    {"StreamEnd", kFlags, [](E& e) { e.global(0).high = 65535; }, kInvalid,
     "operand 1 touches bytes [64896, 65536) of global g0, which has [0, 65535)"},
    {"StreamEndOfBody", kFlags, [](E& e) { e.global(0).high = 64895; }, kInvalid,
     "touches bytes [0, 64896) of global g0, which has [0, 64895)"},
    {"StreamStart", kFlags, [](E& e) { e.global(0).low = 1; }, kInvalid,
     "touches bytes [0, 64896) of global g0, which has [1, 65536)"},
    {"StreamBackwards", kFlags, [](E& e) { e.stream(0, 2) = -1664; }, kInvalid,
     "touches bytes [-63232, 1664) of global g0"},
    {"ViewStart", kCpu, [](E& e) { e.global(2).low = -15; }, kInvalid,
     "instruction 9 (view_store): operand 0 touches bytes [-16, "},
    {"StrideOverflow", kFlags, [](E& e) { e.stream(0, 2) = INT64_MAX - 1; }, kInvalid,
     "addresses of the stream overflow 64 bits"},
    {"OffsetOverflow", kFlags, [](E& e) { e.stream(0, 1) = INT64_MAX - 1; }, kInvalid,
     "addresses of the stream overflow 64 bits"},
    {"ViewSpan", kCpu, [](E& e) { e.view(8, 0).stride = INT64_MIN; }, kInvalid,
     "view dim of 4 steps of -9223372036854775808 bytes exceeds 70368744177664"},
    // What instructions do to each other.
    {"PartialOverlap", kFlags, [](E& e) { e.operand(2, 0).offset = 0x220; }, kInvalid,
     "instruction 2 (add): destination overlaps operand 1"},
    {"StreamsOfOneGlobal", kStreamsOfOneGlobal, [](E& e) { e.operand(2, 1) = e.operand(0, 0); },
     kInvalid, "instruction 2 (neg): destination overlaps operand 1"},
    {"ReduceInPlace", kCpu, [](E& e) { e.operand(2, 0) = e.operand(2, 1); }, kInvalid,
     "instruction 2 (sum): destination overlaps operand 1"},
    {"CastInPlace", kCpu,
     [](E& e) {
       e.operand(7, 0) = e.operand(7, 1);
       e.insn(7).dtype = DType::i64;
     },
     kInvalid, "instruction 7 (cast): destination overlaps operand 1"},
    {"ReadsUnwrittenSlot", kFlags, [](E& e) { e.operand(2, 2).offset = 0xf00; }, kInvalid,
     "instruction 2 (add): operand 2 reads slot bytes [3840, 5504) that nothing has written"},
    {"ReadsPartlyWrittenSlot", kFlags, [](E& e) { e.insn(0).size = 512; },
     kInvalid, "operand 1 reads slot bytes [512, 2176) that nothing has written"},
    // Flags.
    {"FlagsOnCpu", kCpu, [](E& e) { e.header().target = 1; e.insn(8).aux = 1; e.insn(8).syncs = 2;
                                    e.insn(8).size = 4; e.insn(8).tail = 3; },
     kInvalid, "instruction 8 (view_load): target cpu has no flags"},
    {"SyncSet", kFlags, [](E& e) { e.sync(0, 0).set = 3; }, kInvalid,
     "a flag has bits set that mean nothing"},
    {"SyncZero", kFlags, [](E& e) { e.sync(0, 0).zero = 1; }, kInvalid,
     "a flag has bits set that mean nothing"},
    {"SyncPipe", kFlags, [](E& e) { e.sync(0, 0).src = static_cast<Pipe>(3); }, kInvalid,
     "a flag has bits set that mean nothing"},
    {"SyncSelf", kFlags, [](E& e) { e.sync(0, 0).src = Pipe::load; }, kInvalid,
     "a flag has bits set that mean nothing"},
    {"SyncEvent", kFlags, [](E& e) { e.sync(1, 0).event = 8; }, kInvalid, "event 8 exceeds 7"},
    {"SetOnWrongPipe", kFlags, [](E& e) { e.sync(1, 0).src = Pipe::store; }, kInvalid,
     "instruction 1 (load): load pipe cannot set store_simd flag 0"},
    {"WaitOnWrongPipe", kFlags, [](E& e) { e.sync(2, 0).dst = Pipe::store; }, kInvalid,
     "instruction 2 (add): simd pipe cannot wait for load_store flag 0"},
    {"WaitAfterSet", kFlags, [](E& e) { std::swap(e.sync(2, 1), e.sync(2, 2)); }, kInvalid,
     "instruction 2 (add): waits for store_simd flag 0 after a set"},
    {"WaitWithoutSet", kFlags, [](E& e) { e.sync(2, 0).event = 3; }, kInvalid,
     "instruction 2 (add): waits for load_simd flag 3, which nothing has set"},
    {"WaitWithoutLoopFlag", kFlags, [](E& e) { e.header().loop_flags = store_to_simd; }, kInvalid,
     "instruction 0 (load): waits for simd_load flag 0, which nothing has set"},
    {"SetNeverWaited", kFlags, [](E& e) { e.sync(3, 1).dst = Pipe::load; }, kInvalid,
     "store_load flag 0 is set 1 times more than it is waited for in a tile"},
    // Chains. Micro-ops of kChain: 0 x = copy o0, 1 y = copy o1, 2 a = add x y, 3 a = mul a o2,
    // 4 o3 = copy a, 5 y = cmp x a, 6 a = select y a x, 7 o4 = copy a.
    {"ChainDType", kChain, [](E& e) { e.insn(0).dtype = DType::f32; }, kInvalid,
     "instruction 0 (chain): a chain has no dtype of its own"},
    {"ChainOperands", kChain, [](E& e) { e.insn(0).aux = 0; }, kInvalid, "its parts take 11"},
    {"ChainSteps", kChain, [](E& e) { e.insn(0).steps = 9; }, kInvalid, "its parts take 17"},
    {"ChainAccess", kChain, [](E& e) { e.operand(0, 0).access = 77; }, kInvalid,
     "operand 0 has access 77, which means nothing"},
    {"ChainAccessDType", kChain,
     [](E& e) { e.operand(0, 0).access = Access::of(DType::i32, false); }, kInvalid,
     "operand 0 is i32, global g0 is f32"},
    {"ChainWritesRowsOverRows", kChain,
     [](E& e) { e.operand(0, 3) = rows_operand(e.operand(0, 3), 252); }, kInvalid,
     "operand 3 has rows that are written over one another"},
    {"ChainWritesInput", kChain,
     [](E& e) { e.operand(0, 0).access = Access::of(DType::f32, true); }, kInvalid,
     "writes global g0, which is read-only"},
    {"ChainWritesScalar", kChain,
     [](E& e) { e.operand(0, 2).access = Access::of(DType::f32, true); }, kInvalid,
     "operand 2 may not be a scalar"},
    {"ChainWritesOne", kChain,
     [](E& e) { e.operand(0, 3).access = Access::of(DType::f32, true, Reach::one); }, kInvalid,
     "operand 3 has access"},
    {"ChainWritesColumns", kChain,
     [](E& e) { e.operand(0, 3).access = Access::of(DType::f32, true, Reach::per_column); },
     kInvalid, "operand 3 has access"},
    {"ChainOneScalar", kChain,
     [](E& e) { e.operand(0, 2).access = Access::of(DType::f32, false, Reach::one); }, kInvalid,
     "operand 2 has access"},
    {"ChainCopyToTotal", kChain,
     [](E& e) { e.operand(0, 3).access = Access::of(DType::f32, true, Reach::per_row); }, kInvalid,
     "micro-op 4: sums, and only they, are operands with an element for each row"},
    {"ChainSumToEach", kChain, [](E& e) { e.step(7).insn = Insn::sum; }, kInvalid,
     "micro-op 7: sums, and only they, are operands with an element for each row"},
    {"ChainSumOfOperand", kChain,
     [](E& e) {
       e.step(7).insn = Insn::sum;
       e.step(7).src[0] = kFirstOperand;
     },
     kInvalid, "micro-op 7: may sum no operand, only a bank"},
    {"ChainSplitOfOneRow", kChain,
     [](E& e) {
       e.insn(0).split = static_cast<uint8_t>(Split::m);
       e.insn(0).tail = 1;
     },
     kInvalid, "split 1 names no extent of this format"},
    {"ChainOpcode", kChain, [](E& e) { e.step(2).insn = Insn::sum; }, kInvalid,
     "micro-op 2: opcode"},
    {"ChainInChain", kChain, [](E& e) { e.step(2).insn = Insn::chain; }, kInvalid,
     "is no elementwise instruction"},
    {"ChainStepDType", kChain, [](E& e) { e.step(2).dtype = static_cast<DType>(40); }, kInvalid,
     "micro-op 2: dtype, aux or reserved bits mean nothing to add"},
    {"ChainStepAux", kChain, [](E& e) { e.step(5).aux = 6; }, kInvalid,
     "micro-op 5: dtype, aux or reserved bits mean nothing to cmp"},
    {"ChainStepZero", kChain, [](E& e) { e.step(2).zero = 1; }, kInvalid, "mean nothing to add"},
    {"ChainSources", kChain, [](E& e) { e.step(2).src[1] = 0; }, kInvalid,
     "micro-op 2: has too many or too few sources"},
    {"ChainUnwrittenBank", kChain, [](E& e) { e.step(2).src[0] = kFirstBank; }, kInvalid,
     "micro-op 2: source 0 holds no f32"},
    {"ChainBoolForFloat", kChain, [](E& e) { e.step(6).src[1] = kFirstBank + 2; }, kInvalid,
     "micro-op 6: source 1 holds no f32"},
    {"ChainUnwrittenOutput", kChain, [](E& e) { e.step(4).src[0] = kFirstOperand + 3; }, kInvalid,
     "micro-op 4: source 0 holds no f32"},
    {"ChainNoOperand", kChain, [](E& e) { e.step(3).src[1] = kFirstOperand + 60; }, kInvalid,
     "micro-op 3: there is no operand 60"},
    {"ChainOperandOrder", kChain, [](E& e) { std::swap(e.step(0).src[0], e.step(1).src[0]); },
     kInvalid, "micro-op 0: operand 1 is used before 0"},
    {"ChainNoDestination", kChain, [](E& e) { e.step(2).dst = 0; }, kInvalid,
     "micro-op 2: has no destination"},
    {"ChainComputesIntoOperand", kChain, [](E& e) { e.step(4).insn = Insn::neg; }, kInvalid,
     "micro-op 4: may not write operand 3"},
    {"ChainWritesRead", kChain, [](E& e) { e.step(4).dst = kFirstOperand; }, kInvalid,
     "micro-op 4: may not write operand 0"},
    {"ChainUnusedOperand", kChain, [](E& e) { e.step(7).dst = kFirstBank; }, kInvalid,
     "an operand is used by no micro-op"},
    {"ChainOutputsOverlap", kChain,
     [](E& e) { e.operand(0, 3) = {Mode::slot, Access::of(DType::f32, true), 0, 64}; }, kInvalid,
     "destination overlaps operand"},
    {"ChainReadsUnwrittenSlot", kChain,
     [](E& e) { e.operand(0, 2) = {Mode::slot, Access::of(DType::f32, false), 0, 256}; }, kInvalid,
     "operand 2 reads slot bytes [256, 512) that nothing has written"},
};

class VerifyRule : public testing::TestWithParam<Rule> {};

TEST_P(VerifyRule, IsNamed) {
  const Rule& rule = GetParam();
  Editor editor(rule.listing);
  ASSERT_NO_THROW(verify(editor.words));
  rule.damage(editor);
  try {
    verify(editor.words);
    FAIL() << "verified";
  } catch (const core::Error& error) {
    EXPECT_NE(error.message().find(rule.message), std::string::npos) << error.message();
    EXPECT_EQ(error.code(), rule.code);
  }
}

INSTANTIATE_TEST_SUITE_P(All, VerifyRule, testing::ValuesIn(kRules),
                         [](const auto& rule) { return std::string(rule.param.name); });

}  // namespace
}  // namespace dvm::vm
