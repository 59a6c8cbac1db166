// A Program: position-independent bytecode for one target, as one block of 64-bit words:
//   header | grid, loops | globals | scalars | streams | code
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
#include "core/ops/matrix.h"

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
enum class ExtentKind : uint8_t { linear, view, triple, none };
struct FormatInfo {
  std::string_view name;
  int operands;  // destination included
  ExtentKind extents;
  std::string_view notation;
};
const FormatInfo& info(Format format);
// Between global memory and slots: the stream side is fixed by the format.
constexpr bool is_load(Format format) {
  return format == Format::load || format == Format::view_load;
}
constexpr bool is_store(Format format) {
  return format == Format::store || format == Format::view_store;
}
// Of a gather; the others are dense.
constexpr int kTableOperand = 1, kIndexOperand = 2;
constexpr bool is_attention(Format format) {
  return format == Format::attention || format == Format::masked_attention ||
         format == Format::biased_attention;
}
constexpr bool is_transfer(Format format) { return is_load(format) || is_store(format); }

enum class Pipe : uint8_t {
#define DVM_PIPE(name, unit, kernel, synopsis) name,
#include "vm/isa/pipes.def"
};
inline constexpr int kPipeCount = 0
#define DVM_PIPE(name, unit, kernel, synopsis) +1
#include "vm/isa/pipes.def"
    ;
std::string_view to_string(Pipe pipe);
// Whether there are flags that `src` sets and `dst` waits for.
bool has_flags(Pipe src, Pipe dst);

// Which cores run a Program: those of vectors (AIV), those of the cube (AIC), or groups of one of
// these and two of those.
enum class KernelType : uint8_t { vector, cube, mix };
inline constexpr int kKernelTypes = 3;
std::string_view to_string(KernelType type);  // as listings have it: aiv, aic, mix
// Of a Program that uses these pipes: bit by Pipe.
using Pipes = uint32_t;
constexpr Pipes bit(Pipe pipe) { return Pipes{1} << static_cast<int>(pipe); }
KernelType kernel_type(Pipes used);

// Where a slot lies.
enum class Space : uint8_t {
#define DVM_SPACE(name, read_by, written_by, synopsis) name,
#include "vm/isa/spaces.def"
#undef DVM_SPACE
};
inline constexpr int kSpaceCount = 0
#define DVM_SPACE(name, read_by, written_by, synopsis) +1
#include "vm/isa/spaces.def"
#undef DVM_SPACE
    ;
std::string_view to_string(Space space);
std::optional<Space> space_from_text(std::string_view text);
// Whether a pipe reads, or writes, slots in that memory.
bool reaches(Pipe pipe, Space space, bool writes);

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
// Whether targets have a kernel for it; the interpreter itself runs what has none.
constexpr bool has_kernel(Insn insn) { return insn != Insn::chain && insn != Insn::loop; }
constexpr bool is_reduction(Insn insn) {
// NOLINTBEGIN(readability-simplify-boolean-expr): what one row adds to the others
#define DVM_REDUCE(name, reduction, ...) || insn == Insn::reduction
  return false
#include "core/ops/reduce.def"
      ;
#undef DVM_REDUCE
  // NOLINTEND(readability-simplify-boolean-expr)
}
// Reductions that round at every step, so that of halves they are made in floats. The others choose
// one of the elements, and of equal ones it makes no difference how many there are.
constexpr bool accumulates(Insn insn) { return insn == Insn::sum || insn == Insn::prod; }
constexpr bool is_extreme(Insn insn) { return is_reduction(insn) && !accumulates(insn); }

// Where an operand lies: in a slot, in the scalar pool, or in a stream, whose elements are one run
// of memory; or else `rows`, each a run, which lie apart. Chains read rows of theirs so, sequential
// reductions rows of N elements. Matrices of products may also lie column by column, or `packed`
// (cpu/matmul): panels of columns, which a target lays out in its own way; or be `windows` of x.
enum class Mode : uint8_t {
#define DVM_MODE(name) name,
#include "vm/isa/modes.def"
};
inline constexpr int kModeCount = 0
#define DVM_MODE(name) +1
#include "vm/isa/modes.def"
    ;
std::string_view to_string(Mode mode);
struct Operand {
  Mode mode = Mode::slot;
  uint8_t access = 0;  // of a chain: see Access; else 0
  uint16_t index = 0;  // stream or scalar-pool index; of a slot its Space
  // slot: byte offset in local memory; rows, columns: bytes from one to the next; packed: the bytes
  // of one column.
  uint32_t offset = 0;
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
constexpr Operand slot_operand(uint32_t offset, Space space = Space::ub) {
  return {Mode::slot, 0, static_cast<uint16_t>(space), offset};
}
constexpr Space space_of(const Operand& slot) { return static_cast<Space>(slot.index); }
constexpr Operand rows_operand(const Operand& stream, uint32_t stride) {
  return {Mode::rows, stream.access, stream.index, stride};
}
constexpr bool is_stream(const Operand& operand) {
  return operand.mode != Mode::slot && operand.mode != Mode::scalar;
}
constexpr bool has_stride(Mode mode) {
  return mode == Mode::rows || mode == Mode::columns || mode == Mode::packed;
}
// Packed matrices take room for whole panels of columns, of whatever width a target makes them.
inline constexpr int64_t kPackedColumns = 64;
constexpr int64_t packed_columns(int64_t columns) {
  return (columns + kPackedColumns - 1) / kPackedColumns * kPackedColumns;
}
// The bytes from one row of a stream to the next, where rows lie apart.
constexpr std::optional<int64_t> row_stride(const Operand& operand) {
  if (operand.mode != Mode::rows) return std::nullopt;
  return operand.offset;
}

// What an instruction does with a flag. carry is a loop's: it sets the flag before the first step
// of its body, which waits for it and sets it again, and waits for it after the last.
enum class SyncKind : uint8_t { wait, set, carry };
struct Sync {
  uint8_t set = 0;  // SyncKind: 1 set after, 0 wait before the instruction
  Pipe src = Pipe::load, dst = Pipe::simd;
  uint8_t event = 0;
  uint32_t zero = 0;
  bool operator==(const Sync&) const = default;
  SyncKind kind() const { return static_cast<SyncKind>(set); }
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

// What an attention has besides its extents.
struct AttentionWords {
  uint32_t depth = 1;
  uint32_t causal = 0;  // whether `last` means anything
  double scale = 1, fill = 0;
  int64_t last = 0;
  bool operator==(const AttentionWords&) const = default;
};
static_assert(sizeof(AttentionWords) == 32);

// Along one axis that the windows of a product move along (Mode::windows): position i has element k
// of its window at i * step + k * dilation - before. What is not in [0, size) is zero.
struct WindowAxis {
  int64_t positions = 1, window = 1, size = 1;
  int64_t stride = 0;  // bytes from element to element
  int64_t step = 1, dilation = 1, before = 0;
  bool operator==(const WindowAxis&) const = default;
};
// How the right matrix lies: its rows are channels and in each the elements of a window, its
// columns positions, the last axis fastest in both. Columns are counted from the first tile along
// the innermost dimension of the grid.
struct WindowWords {
  static constexpr int kAxes = 3;
  int64_t channel_stride = 0;  // bytes
  WindowAxis axes[kAxes];
  int64_t elements() const { return axes[0].window * axes[1].window * axes[2].window; }
  int64_t positions() const { return axes[0].positions * axes[1].positions * axes[2].positions; }
  bool operator==(const WindowWords&) const = default;
};
static_assert(sizeof(WindowWords) == 176);
// Bytes to an element of that matrix; none where it is zero.
constexpr std::optional<int64_t> window_offset(const WindowWords& words, int64_t row,
                                               int64_t column) {
  int64_t offset = 0;
  for (int d = WindowWords::kAxes; d-- > 0;) {
    const WindowAxis& axis = words.axes[d];
    const int64_t at =
        column % axis.positions * axis.step + row % axis.window * axis.dilation - axis.before;
    if (at < 0 || at >= axis.size) return std::nullopt;
    offset += at * axis.stride;
    row /= axis.window;
    column /= axis.positions;
  }
  return offset + row * words.channel_stride;
}

enum class Split : uint8_t { none, m, size, n };

// The axes along which tiles and steps are counted: the grid's dimensions from the innermost one
// on, then the loops.
inline constexpr int kMaxLoops = 4;
inline constexpr int kFirstLoopAxis = kMaxRank;
inline constexpr int kAxisCount = kFirstLoopAxis + kMaxLoops;
// Of which axes a tile or step is the last: bit by axis.
using Ends = uint16_t;
static_assert(kAxisCount <= 16);

// A shorter extent at the end of an axis. The one of the innermost dimension of the grid, which
// nearly all tails are, has fields of its own in the instruction.
struct Tail {
  uint8_t extent = 0;  // Split; views: 1 + the view dim
  uint8_t axis = 0;
  uint16_t zero = 0;
  uint32_t value = 0;
  bool operator==(const Tail&) const = default;
};
static_assert(sizeof(Tail) == 8);
inline constexpr int kMaxMoreTails = 3;

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
  uint8_t words = 0;         // of it, with this one
  DType dtype = DType::f32;  // see column `result` of isa.def
  // cast: source dtype; compare: ordering; reduce: reduce_source.h; views: dims; chain: operands
  uint8_t aux = 0;
  uint8_t syncs = 0;
  // The extent that `tail` replaces in the last tile along the innermost grid dimension: Split;
  // views: 1 + the split dim.
  uint8_t split = 0;
  uint8_t steps = 0;  // of a chain, which computes m rows of `size` elements
  uint8_t tails = 0;  // along other axes
  uint32_t m = 1, size = 1, n = 1, tail = 0;

  const Operand* operands() const { return reinterpret_cast<const Operand*>(this + 1); }
  bool is_chain() const { return insn == Insn::chain; }
  bool is_loop() const { return insn == Insn::loop; }
  // Of a loop: the words of the instructions behind it that it repeats.
  uint32_t body_words() const { return size; }
  int operand_count() const { return is_chain() ? aux : info(insn).operands; }
  bool is_view() const { return info(info(insn).format).extents == ExtentKind::view; }
  std::span<const ViewDim> view_dims() const {
    return {reinterpret_cast<const ViewDim*>(operands() + operand_count()),
            is_view() ? size_t{aux} : 0};
  }
  bool is_attention() const { return vm::is_attention(info(insn).format); }
  const AttentionWords& attention() const {
    return *reinterpret_cast<const AttentionWords*>(operands() + operand_count());
  }
  bool has_windows() const {
    return info(insn).format == Format::matrix && operands()[2].mode == Mode::windows;
  }
  const WindowWords& windows() const {
    return *reinterpret_cast<const WindowWords*>(operands() + operand_count());
  }
  // Nothing but a chain has any.
  std::span<const MicroOp> micro_ops() const {
    return {reinterpret_cast<const MicroOp*>(operands() + aux), steps};
  }
  // By extent.
  std::span<const Tail> more_tails() const {
    const void* begin = view_dims().data() + view_dims().size();
    if (is_chain()) begin = micro_ops().data() + steps;
    if (is_attention()) begin = &attention() + 1;
    if (has_windows()) begin = &windows() + 1;
    return {static_cast<const Tail*>(begin), tails};
  }
  // Waits first, then sets, then what a loop carries.
  std::span<const Sync> sync_list() const {
    return {reinterpret_cast<const Sync*>(more_tails().data() + tails), syncs};
  }
};
static_assert(sizeof(Instruction) == 24);

// What an instruction touches, in a tile or step that ends no axis or some; operand 0 is the
// destination, but a chain's operands say for themselves whether they are one.
bool writes(const Instruction& insn, int operand);
Reach reach(const Instruction& insn, int operand);  // of a chain's; each of all others
Extents extents(const Instruction& insn, Ends ends);
DType operand_dtype(const Instruction& insn, int operand);
int64_t operand_elements(const Instruction& insn, int operand, Ends ends);
// Of an operand of a product: its rows and columns.
struct MatrixSize {
  int64_t rows, columns;
};
constexpr MatrixSize matrix_size(int operand, const Extents& e) {
  return {operand == 2 ? e.size : e.m, operand == 1 ? e.size : e.n};
}
// Of an attention: of d without what its steps leave for each other.
constexpr int kAttentionMask = 4;
constexpr MatrixSize attention_size(int operand, const Extents& e, int64_t depth) {
  const bool by_rows_of_q = operand < 2 || operand == kAttentionMask;
  const bool has_depth = operand == 1 || operand == 2;
  return {by_rows_of_q ? e.m : e.size, has_depth                   ? depth
                                       : operand == kAttentionMask ? e.size
                                                                   : e.n};
}
MatrixSize matrix_size(const Instruction& insn, int operand, const Extents& e);
// The bytes from one row and one column of a matrix to the next, where it lies in no panels.
struct MatrixStrides {
  int64_t row, column;
};
constexpr MatrixStrides matrix_strides(const Operand& operand, int64_t columns, int64_t element) {
  if (operand.mode == Mode::columns) return {element, operand.offset};
  return {operand.mode == Mode::rows ? operand.offset : columns * element, element};
}
// What stands in place of an extent (of Tail::extent) at those ends, or `full`.
uint32_t other_tail_of(const Instruction& insn, int extent, Ends ends, uint32_t full);
inline uint32_t tail_of(const Instruction& insn, int extent, Ends ends, uint32_t full) {
  if ((ends & 1) != 0 && insn.split == extent) return insn.tail;
  return insn.tails == 0 ? full : other_tail_of(insn, extent, ends, full);
}
// `extents` of what is no view.
inline Extents plain_extents(const Instruction& insn, Ends ends) {
  return {tail_of(insn, static_cast<int>(Split::m), ends, insn.m),
          tail_of(insn, static_cast<int>(Split::size), ends, insn.size),
          tail_of(insn, static_cast<int>(Split::n), ends, insn.n)};
}
// The positions along a view dim of `extent` that the strided operand may be asked for: of a gather
// as many as there are indices, along the dim that they stand for.
int64_t positions_along(const Instruction& insn, int dim, int64_t extent);
// The axes along which it has tails.
Ends cut_axes(const Instruction& insn);
// Calls f(at_end, before_end) for each choice of those axes being at their end or before it.
template <typename F>
void for_each_ends(const Instruction& insn, F f) {
  const Ends cut = cut_axes(insn);
  for (Ends at_end = 0;; at_end = static_cast<Ends>((at_end - cut) & cut)) {
    f(at_end, static_cast<Ends>(cut & ~at_end));
    if (at_end == cut) return;
  }
}

// One way through global memory: address(tile, steps) = base[global] + offset + coord . stride.
// In memory: global, offset, then strides, all int64: one per grid dimension, outermost first, and
// one per loop, outside of which its coordinate is 0.
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

// Pairs of pipes with a flag that is carried from one tile to the next (event 0 of the pair): it is
// set once per core before the first tile and waited for after the last.
enum LoopFlag : uint8_t {
#define DVM_CARRIED_PAIR(src, dst, bit) src##_to_##dst = 1 << (bit),
#include "vm/isa/pipes.def"
};

struct LoopFlagInfo {
  LoopFlag flag;
  Pipe src, dst;
};
inline constexpr LoopFlagInfo kLoopFlags[] = {
#define DVM_CARRIED_PAIR(src, dst, bit) {src##_to_##dst, Pipe::src, Pipe::dst},
#include "vm/isa/pipes.def"
};

// Instruction::aux of a product of matrices: when it adds to its destination, the dtype of its
// sources where that is another one, and to what factors of f32 may be rounded.
struct MatrixAux {
  // In all steps of that loop but the first.
  std::optional<int> loop = {};
  bool always = false;
  DType source = DType::f32;
  core::Precision precision = core::Precision::highest;

  static constexpr int kRounds = 0x80;  // a bit of the code
  constexpr uint8_t code(DType dtype) const {
    const bool rounds = precision != core::Precision::highest;
    const int other = precision == core::Precision::high ? kSplit
                      : source == dtype                  ? 0
                                                         : static_cast<int>(source) + 1;
    return static_cast<uint8_t>((always ? kAlways
                                 : loop ? *loop + 1
                                        : 0) |
                                other << 3 | (rounds ? kRounds : 0));
  }
  static constexpr MatrixAux of(DType dtype, uint8_t aux) {
    MatrixAux result;
    const int adds = aux & 7;
    result.always = adds == kAlways;
    if (adds != 0 && !result.always) result.loop = adds - 1;
    const int other = (aux & ~kRounds) >> 3;
    const bool rounds = (aux & kRounds) != 0, splits = rounds && other == kSplit;
    result.source = other == 0 || splits ? dtype : static_cast<DType>(other - 1);
    if (rounds) result.precision = splits ? core::Precision::high : core::Precision::medium;
    return result;
  }

 private:
  static constexpr int kAlways = 7;
  static constexpr int kSplit = 1;  // in place of the dtype, beside kRounds
};
static_assert(kMaxLoops < 7 && core::kDTypeCount < 15);
// What only a kernel can find wrong, because it depends on the values of elements.
enum class Fault : uint8_t { none, index_out_of_range };

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
  uint32_t local_bytes;                                       // of UB in use, reserve included
  uint16_t globals, streams, scalars;
  uint8_t grid_rank, loop_flags;
  uint8_t loops;
  uint8_t zero[3];
};
static_assert(sizeof(Header) == 48);

// Who runs which tiles (Algorithm 2): core `id` of block_dim takes body_tile tiles from
// body_tile * id on; the last one takes tail_tile_diff fewer.
struct TileShares {
  uint32_t body_tile, block_dim, tail_tile_diff;
};
TileShares share_tiles(int64_t tile_count, int64_t cores);

inline constexpr uint32_t kMagic = 0x424d5644;  // "DVMB"
inline constexpr uint16_t kVersion = 2;
inline constexpr int kTextVersion = 1;  // of listings
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
  std::span<const int64_t> grid() const;   // tiles per grid dimension, outermost first
  std::span<const int64_t> loops() const;  // steps per loop, in the order of their instructions
  std::span<const Global> globals() const;
  // Bits of the using instruction's dtype, low bytes first, the rest zero.
  std::span<const Scalar> scalars() const;
  const Stream& stream(int index) const;
  std::span<const int64_t> strides(const Stream& stream) const {
    return {stream.strides(), size_t{header().grid_rank} + header().loops};
  }
  std::span<const uint64_t> code() const;

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
