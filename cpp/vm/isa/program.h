// A Program: position-independent bytecode for one target, as one block of 64-bit words:
//   header | grid | globals | scalars | streams | code
// Program is a view; the words live in an arena (hot path) or a vector (files, tests). Layouts of
// instructions: vm/isa/isa.def. Writing one: vm/isa/program_builder.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/ops/dtype.h"
#include "core/ops/elementwise.h"

namespace dvm::vm {

using core::DType;
using core::kMaxRank;
using core::Scalar;

enum class Insn : uint8_t {
#define DVM_INSN(name, format, pipe, operands, dtypes, result, slope, head, synopsis) name,
#include "vm/isa/isa.def"
#undef DVM_INSN
};
inline constexpr int kInsnCount = 0
#define DVM_INSN(name, format, pipe, operands, dtypes, result, slope, head, synopsis) +1
#include "vm/isa/isa.def"
#undef DVM_INSN
    ;

enum class Format : uint8_t {
#define DVM_FORMAT(name, operands, extents, notation) name,
#include "vm/isa/formats.def"
#undef DVM_FORMAT
};
enum class ExtentKind : uint8_t { linear, view, triple };
struct FormatInfo {
  std::string_view name;
  int operands;  // destination included
  ExtentKind extents;
  std::string_view notation;
};
const FormatInfo& info(Format format);

enum class Pipe : uint8_t { load, simd, store };
inline constexpr int kPipeCount = 3;
std::string_view to_string(Pipe pipe);

enum class Compare : uint8_t {
#define DVM_COMPARE(name, op, numpy) name,
#include "core/ops/compare.def"
#undef DVM_COMPARE
};
inline constexpr int kCompareCount = 0
#define DVM_COMPARE(name, op, numpy) +1
#include "core/ops/compare.def"
#undef DVM_COMPARE
    ;
std::string_view to_string(Compare compare);
std::optional<Compare> compare_from_text(std::string_view text);

// Of reduce instructions: which of the two chunk rules of core/ops/sum_order.h holds.
enum class ReduceOrder : uint8_t { lanes, sequential };
std::string_view to_string(ReduceOrder order);

using DTypeSet = core::OperandRule;
constexpr bool contains(DTypeSet set, DType dtype) { return core::allows(set, dtype); }

struct InsnInfo {
  std::string_view name;
  Format format;
  Pipe pipe;
  bool scalar_operands;
  DTypeSet dtypes;
  bool boolean_result;
  int operands;  // destination included
  float slope, head;
  std::string_view synopsis;
};
const InsnInfo& info(Insn insn);
std::optional<Insn> insn_from_text(std::string_view name);

// rows: a stream whose rows lie apart. Chains read rows of theirs so, and sequential reductions
// rows of N elements.
enum class Mode : uint8_t { slot, stream, scalar, rows };
inline constexpr int kModeCount = 4;
struct Operand {
  Mode mode = Mode::slot;
  uint8_t access = 0;   // of a chain: see Access; else 0
  uint16_t index = 0;   // stream or scalar-pool index
  uint32_t offset = 0;  // slot: byte offset in local memory; rows: bytes from one to the next
  bool operator==(const Operand&) const = default;
};
static_assert(sizeof(Operand) == 8);
// What the elements of a chain's operand stand for, the chain computing rows of elements: one for
// each element, one for each row, one for all, or one for each column, that is one row for all.
enum class Reach : uint8_t { each, per_row, one, per_column };
// How a chain uses an operand: the dtype of its elements, what they stand for, and whether
// micro-ops write it.
struct Access {
  static constexpr uint8_t kWritten = 0x80, kReach = 0x60;
  static constexpr int kReachShift = 5;
  static constexpr int dtype(uint8_t access) { return access & ~(kWritten | kReach); }
  static constexpr Reach reach(uint8_t access) {
    return static_cast<Reach>((access & kReach) >> kReachShift);
  }
  static constexpr uint8_t of(DType dtype, bool written, Reach reach = Reach::each) {
    return static_cast<uint8_t>(static_cast<int>(dtype) | static_cast<int>(reach) << kReachShift |
                                (written ? kWritten : 0));
  }
};
static_assert(core::kDTypeCount <= 1 << Access::kReachShift);
constexpr Operand slot_operand(uint32_t offset) { return {Mode::slot, 0, 0, offset}; }
constexpr Operand rows_operand(const Operand& stream, uint32_t stride) {
  return {Mode::rows, stream.access, stream.index, stride};
}
constexpr bool is_stream(const Operand& operand) {
  return operand.mode == Mode::stream || operand.mode == Mode::rows;
}
// The bytes from one row of a stream to the next, where rows lie apart.
constexpr std::optional<int64_t> row_stride(const Operand& operand) {
  if (operand.mode != Mode::rows) return std::nullopt;
  return operand.offset;
}

struct Sync {
  uint8_t set = 0;  // 1 set after, 0 wait before the instruction
  Pipe src = Pipe::load, dst = Pipe::simd;
  uint8_t event = 0;
  uint32_t zero = 0;
  bool operator==(const Sync&) const = default;
};
static_assert(sizeof(Sync) == 8);

// A place of a chain: 0 none, then its banks, then its operands.
inline constexpr int kBanks = 3;
inline constexpr uint8_t kFirstBank = 1, kFirstOperand = kFirstBank + kBanks;
inline constexpr int kMaxChainOperands = 64;

// One step of a chain; dtype and aux mean what they do for the instruction of that name.
struct MicroOp {
  Insn insn = Insn::copy;
  DType dtype = DType::f32;
  uint8_t aux = 0;
  uint8_t dst = 0, src[3] = {};
  uint8_t zero = 0;
  bool operator==(const MicroOp&) const = default;
};
static_assert(sizeof(MicroOp) == 8);

enum class Split : uint8_t { none, m, size, n };

struct ViewDim {
  int64_t extent, stride;  // elements, bytes
  bool operator==(const ViewDim&) const = default;
};

struct Extents {
  int64_t m = 1, size = 1, n = 1;
};

// The fixed part of every instruction; operands, view dims and syncs follow it in memory.
// Accessors assume a verified Program.
struct Instruction {
  Insn insn = Insn::copy;
  uint8_t words = 0;         // whole length
  DType dtype = DType::f32;  // see column `result` of isa.def
  // cast: source dtype; compare: ordering; reduce: reduce_source.h; views: dims; chain: operands
  uint8_t aux = 0;
  uint8_t syncs = 0;
  uint8_t split = 0;   // Split; views: 1 + the split dim
  uint16_t steps = 0;  // of a chain, which computes m rows of `size` elements
  uint32_t m = 1, size = 1, n = 1, tail = 0;

  const Operand* operands() const { return reinterpret_cast<const Operand*>(this + 1); }
  bool is_chain() const { return insn == Insn::chain; }
  int operand_count() const { return is_chain() ? aux : info(insn).operands; }
  bool is_view() const { return info(info(insn).format).extents == ExtentKind::view; }
  std::span<const ViewDim> view_dims() const {
    return {reinterpret_cast<const ViewDim*>(operands() + operand_count()),
            is_view() ? size_t{aux} : 0};
  }
  // Nothing but a chain has any.
  std::span<const MicroOp> micro_ops() const {
    return {reinterpret_cast<const MicroOp*>(operands() + aux), steps};
  }
  // Waits first, then sets.
  std::span<const Sync> sync_list() const {
    const void* const begin = is_chain() ? static_cast<const void*>(micro_ops().data() + steps)
                                         : view_dims().data() + view_dims().size();
    return {static_cast<const Sync*>(begin), syncs};
  }
};
static_assert(sizeof(Instruction) == 24);

// What an instruction touches, in a body or in a tail tile; operand 0 is the destination, but a
// chain's operands say for themselves whether they are one.
bool writes(const Instruction& insn, int operand);
Reach reach(const Instruction& insn, int operand);  // of a chain's; each of all others
Extents extents(const Instruction& insn, bool tail);
DType operand_dtype(const Instruction& insn, int operand);
int64_t operand_elements(const Instruction& insn, int operand, bool tail);

// One way through global memory: address(tile) = base[global] + offset + coord . stride.
// In memory: global, offset, then grid_rank strides, all int64.
struct Stream {
  int64_t global, offset;
  const int64_t* strides() const { return reinterpret_cast<const int64_t*>(this + 1); }
};

// A tensor operand of the Program. Every byte it may touch lies in [low, high) from its base.
struct Global {
  int64_t low = 0, high = 0;
  DType dtype = DType::f32;
  uint8_t written = 0;
  uint8_t zero[6] = {};
};
static_assert(sizeof(Global) == 24);

enum class KernelType : uint8_t { vector };

// Pairs of pipes with a flag that is carried from one tile to the next (event 0 of the pair): it is
// set once per core before the first tile and waited for after the last.
enum LoopFlag : uint8_t { simd_to_load = 1, store_to_simd = 2, store_to_load = 4 };

struct LoopFlagInfo {
  LoopFlag flag;
  Pipe src, dst;
};
inline constexpr LoopFlagInfo kLoopFlags[] = {
    {simd_to_load, Pipe::simd, Pipe::load},
    {store_to_simd, Pipe::store, Pipe::simd},
    {store_to_load, Pipe::store, Pipe::load},
};

inline constexpr int64_t kMaxTiles = INT32_MAX;
inline constexpr int64_t kMaxTileElements = INT32_MAX;
inline constexpr int64_t kMaxViewBytes = int64_t{1} << 46;

struct Header {
  uint32_t magic;
  uint16_t version;
  uint8_t target;
  KernelType kernel_type;
  uint32_t words;  // whole Program
  uint32_t code_words;
  uint32_t tile_count, block_dim, body_tile, tail_tile_diff;  // see TileShares
  uint32_t local_bytes;  // local memory in use, reserve included
  uint16_t globals, streams, scalars;
  uint8_t grid_rank, loop_flags;
  uint32_t zero;
};
static_assert(sizeof(Header) == 48);

// Who runs which tiles (Algorithm 2): core `id` of block_dim takes body_tile tiles from
// body_tile * id on; the last one takes tail_tile_diff fewer.
struct TileShares {
  uint32_t body_tile, block_dim, tail_tile_diff;
};
TileShares share_tiles(int64_t tile_count, int64_t cores);

inline constexpr uint32_t kMagic = 0x424d5644;  // "DVMB"
inline constexpr uint16_t kVersion = 1;
inline constexpr int kEventIds = 8;
inline constexpr int kMaxProgramGlobals = 64;
inline constexpr int kMaxStreams = 128;
inline constexpr int kMaxScalars = 256;

// Read access; assumes a verified Program.
class Program {
 public:
  Program() = default;
  explicit Program(std::span<const uint64_t> words) : words_(words) {}
  const Header& header() const { return *reinterpret_cast<const Header*>(words_.data()); }
  std::span<const uint64_t> words() const { return words_; }
  std::span<const int64_t> grid() const;  // tiles per grid dimension, outermost first
  std::span<const Global> globals() const;
  // Bits of the using instruction's dtype, low bytes first, the rest zero.
  std::span<const Scalar> scalars() const;
  const Stream& stream(int index) const;
  std::span<const int64_t> strides(const Stream& stream) const {
    return {stream.strides(), header().grid_rank};
  }
  std::span<const uint64_t> code() const;
  // Whether a tile is the last along the last grid dimension: instructions use their tail extents.
  bool is_tail(int64_t tile) const {
    return header().grid_rank != 0 && (tile + 1) % grid().back() == 0;
  }

 private:
  template <typename T>
  const T* at(size_t word) const {
    return reinterpret_cast<const T*>(words_.data() + word);
  }
  std::span<const uint64_t> words_;
};

// Throws FormatError: header, tables, every instruction, operand modes, slot bounds and alignment,
// stream bounds over the whole grid, pairing of flags. Total on any input bytes.
void verify(std::span<const uint64_t> words);

// Text in the manner of paper Fig. 6, and back. assemble(disassemble(p)) has the same words.
std::string disassemble(const Program& program);
std::vector<uint64_t> assemble(std::string_view text);  // throws FormatError; result is verified

// docs/isa.md: every instruction, dtype by dtype, and the targets.
std::string isa_markdown();

}  // namespace dvm::vm
