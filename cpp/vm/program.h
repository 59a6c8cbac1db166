// A Program: position-independent bytecode for one target, as one block of 64-bit words:
//   header | grid | globals | scalars | streams | code
// Program is a view; the words live in an arena (hot path) or a vector (files, tests).
// Layouts of instructions: vm/isa.def.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/graph.h"

namespace dvm::vm {

using core::DType;
using core::kMaxRank;
using core::Scalar;

enum class Insn : uint8_t {
#define DVM_INSN(name, format, pipe, operands, slope, head, synopsis) name,
#include "vm/isa.def"
#undef DVM_INSN
};
enum class Format : uint8_t {
  load,
  view_load,
  store,
  view_store,
  unary,
  binary,
  select,
  cast,
  compare,
  broadcast,
  reduce
};
enum class Pipe : uint8_t { load, simd, store };
enum class Compare : uint8_t {
#define DVM_COMPARE(name, op, numpy) name,
#include "core/compare.def"
#undef DVM_COMPARE
};
// aux of reduce instructions: which of the two chunk rules of core/sum_order.h holds.
enum class ReduceOrder : uint8_t { lanes, sequential };

struct InsnInfo {
  std::string_view name;
  Format format;
  Pipe pipe;
  bool scalar_operands;
  int operands;  // destination included
  float slope, head;
  std::string_view synopsis;
};
const InsnInfo& info(Insn insn);
inline constexpr int kInsnCount = 0
#define DVM_INSN(name, format, pipe, operands, slope, head, synopsis) +1
#include "vm/isa.def"
#undef DVM_INSN
    ;

enum class Mode : uint8_t { slot, stream, scalar };
struct Operand {
  Mode mode = Mode::slot;
  uint8_t zero = 0;
  uint16_t index = 0;   // stream or scalar-pool index
  uint32_t offset = 0;  // slot: byte offset in local memory
  bool operator==(const Operand&) const = default;
};
static_assert(sizeof(Operand) == 8);

struct Sync {
  uint8_t set = 0;  // 1 set after, 0 wait before the instruction
  Pipe src = Pipe::load, dst = Pipe::simd;
  uint8_t event = 0;
  uint32_t zero = 0;
  bool operator==(const Sync&) const = default;
};
static_assert(sizeof(Sync) == 8);

enum class Split : uint8_t { none, m, size, n };

// The fixed part of every instruction; operands, view dims and syncs follow it in memory.
struct Instruction {
  Insn insn;
  uint8_t words;  // whole length
  DType dtype;    // of the destination (compare: of the sources)
  uint8_t aux;    // cast: source dtype; compare: ordering; reduce: order; views: dim count
  uint8_t syncs;
  uint8_t split;
  uint16_t zero;
  uint32_t m, size, n, tail;

  const Operand* operands() const { return reinterpret_cast<const Operand*>(this + 1); }
};
static_assert(sizeof(Instruction) == 24);

struct ViewDim {
  int64_t extent, stride;  // elements, bytes
};

// One way through global memory: address(tile) = base[global] + offset + coord . stride.
// In memory: global, offset, then grid_rank strides, all int64.
struct Stream {
  int64_t global, offset;
  const int64_t* strides() const { return reinterpret_cast<const int64_t*>(this + 1); }
};

// A tensor operand of the Program. Every byte it may touch lies in [low, high) from its base.
struct Global {
  int64_t low, high;
  DType dtype;
  uint8_t written;
  uint8_t zero[6];
};
static_assert(sizeof(Global) == 24);

enum class KernelType : uint8_t { vector };

// Pairs of pipes with a flag that is carried from one tile to the next (event 0 of the pair): it is
// set once per core before the first tile and waited for after the last.
enum LoopFlag : uint8_t { simd_to_load = 1, store_to_simd = 2, store_to_load = 4 };

struct Header {
  uint32_t magic;
  uint16_t version;
  uint8_t target;
  KernelType kernel_type;
  uint32_t words;  // whole Program
  uint32_t code_words;
  uint32_t tile_count, block_dim, body_tile, tail_tile_diff;
  uint32_t local_bytes;  // local memory in use, reserve included
  uint16_t globals, streams, scalars;
  uint8_t grid_rank, loop_flags;
  uint32_t zero;
};
static_assert(sizeof(Header) == 48);

inline constexpr uint32_t kMagic = 0x424d5644;  // "DVMB"
inline constexpr uint16_t kVersion = 1;
inline constexpr int kEventIds = 8;

// Read access; assumes a verified Program.
class Program {
 public:
  Program() = default;
  explicit Program(std::span<const uint64_t> words) : words_(words) {}
  const Header& header() const { return *reinterpret_cast<const Header*>(words_.data()); }
  std::span<const uint64_t> words() const { return words_; }
  std::span<const int64_t> grid() const;  // tiles per grid dimension, outermost first
  std::span<const Global> globals() const;
  std::span<const Scalar> scalars()
      const;  // bits of the using instruction's dtype, low bytes first
  const Stream& stream(int index) const;
  std::span<const uint64_t> code() const;

 private:
  std::span<const uint64_t> words_;
};

// Throws FormatError: header, tables, every instruction, operand modes, slot bounds and alignment,
// stream bounds over the whole grid, pairing of flags. Total on any input bytes.
void verify(std::span<const uint64_t> words);

// Text in the manner of paper Fig. 6, and back. assemble(disassemble(p)) has the same words.
std::string disassemble(const Program& program);
std::vector<uint64_t> assemble(std::string_view text);  // throws FormatError; result is verified

}  // namespace dvm::vm
