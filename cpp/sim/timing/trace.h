// What the instructions of a Program did on one core, in its order: the input of the timing. Which
// instructions run, on how many elements and where in global memory depends on the Program alone,
// so that a core without memory (trace_core) leaves the same trace as one that computes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "vm/run/interpreter.h"

namespace dvm::sim {

inline constexpr int64_t kRepeatBytes = 256;  // of a repeat of the vector unit

// Runs of adjacent bytes in a global operand.
struct Reach {
  int16_t global = -1;  // -1: none
  bool writes = false;
  int64_t begin = 0, bytes = 0;  // of the first run, from the base of the global
  // Of the dims around the runs, outermost first: bytes from one run to the next, and their number.
  std::vector<vm::ViewDim> around;
  int64_t runs() const;
  template <typename F>
  void for_each_run(F f) const;  // f(begin)
};

struct TraceOp {
  enum class Kind : uint8_t { tile, execute, wait, set };
  Kind kind = Kind::execute;
  vm::Pipe pipe = vm::Pipe::load;   // whose queue it stands in
  vm::Pipe other = vm::Pipe::load;  // of a flag: who sets it, or waits for it
  uint8_t event = 0;
  bool crosses = false;  // of a flag: between cores of a group, where `event` is a CrossFlag
  // Of what executes: before how many simd operations the one was that wrote what it reads; 0: none
  // of the last few.
  uint8_t depends = 0;
  int32_t insn = -1;   // index of the instruction in the Program; -1: of the tiles around it
  int32_t reach = -1;  // of a transfer, index into Trace::reaches
  int64_t tile = 0;
  int64_t bytes = 0;    // of a transfer within the core: moved
  int64_t repeats = 0;  // of vectors, in bytes of the widest operand; of the cube, fractal products
  int64_t indices = 0;  // of a gather, that the scalar unit reads
};

// Flags of a group of cores: the cube has left a tile, a vector core has loaded it.
enum class CrossFlag : uint8_t { left, loaded };

struct Trace {
  std::vector<TraceOp> ops;
  std::vector<Reach> reaches;
};

// The instructions of a Program in the order of its code, loops included, by their place.
class InstructionIndex {
 public:
  explicit InstructionIndex(const vm::Program& program) { add(program); }
  // Behind those that it has.
  void add(const vm::Program& program);
  int32_t of(const vm::Instruction& insn) const { return index_.at(&insn); }
  std::span<const vm::Instruction* const> all() const { return all_; }

 private:
  std::map<const vm::Instruction*, int32_t> index_;
  std::vector<const vm::Instruction*> all_;
};

// Writes a trace as a core runs (the Core interface of vm/run/interpreter.h without its memory).
class Tracer {
 public:
  Tracer(const vm::Program& program, const InstructionIndex& index,
         std::span<std::byte* const> globals, Trace& trace)
      : program_(program), index_(index), globals_(globals), trace_(trace) {}

  void begin(const vm::Header& header);
  void end(const vm::Header& header);
  void wait(const vm::Instruction& insn, const vm::Sync& sync, const vm::Tile& tile);
  void set(const vm::Instruction& insn, const vm::Sync& sync, const vm::Tile& tile);
  void execute(const vm::Instruction& insn, const vm::TileArgs& args, const vm::Tile& tile);
  void execute_chain(const vm::ChainArgs& args, const vm::Tile& tile);

 private:
  // A local range, and the simd operation that wrote it last.
  struct Written {
    vm::Space space;
    int64_t begin, end;
  };
  static constexpr int kRemembered = 8;

  void enter(int64_t tile);
  TraceOp& add(const vm::Instruction& insn, const vm::Tile& tile);
  void flag(TraceOp::Kind kind, const vm::Sync& flag, int32_t insn, int64_t tile);
  void reach(TraceOp& op, const vm::Instruction& insn, int operand, const std::byte* address,
             const vm::TileArgs& args, const vm::Tile& tile);
  // Of a simd operation: finds `depends`, and remembers what it writes.
  void order(TraceOp& op, const vm::Instruction& insn, const vm::Tile& tile);

  const vm::Program& program_;
  const InstructionIndex& index_;
  std::span<std::byte* const> globals_;
  Trace& trace_;
  int64_t last_tile_ = -1;
  Written written_[kRemembered] = {};  // of the last simd operations, the latest first
  int remembered_ = 0;
};

// The trace of core `id` of the Program's block_dim, without running it.
Trace trace_core(const vm::Program& program, const InstructionIndex& index, int64_t id);

// Those of group `id` of a launch with followers: of the cube's core, then of the vector cores.
// What is handed over lies group by group, place by place.
inline constexpr int kGroupCores = 1 + vm::kVectorCores;
std::array<Trace, kGroupCores> trace_group(const vm::Launch& launch, const InstructionIndex& index,
                                           int64_t id);

template <typename F>
void Reach::for_each_run(F f) const {
  int64_t place[core::kMaxRank] = {};
  for (int64_t at = begin, left = runs(); left > 0; --left) {
    f(at);
    for (size_t d = around.size(); d-- > 0;) {
      at += around[d].stride;
      if (++place[d] < around[d].extent) break;
      at -= around[d].stride * around[d].extent;
      place[d] = 0;
    }
  }
}

}  // namespace dvm::sim
