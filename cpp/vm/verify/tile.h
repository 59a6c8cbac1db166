// The rules of verify() that concern the code: each instruction by itself, what it touches, and how
// it follows from those before it. Header and tables have been verified.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "vm/isa/program.h"
#include "vm/target/target.h"

namespace dvm::vm {

// verify(), which also tells the instruction it stands at when it throws, or -1 before the code.
void verify(std::span<const uint64_t> words, int& at);

inline std::string number(auto value) { return std::to_string(value); }  // for its messages

class TileVerifier {
 public:
  TileVerifier(const Program& program, const TargetTraits& target);
  // Checks the instruction at the start of `rest`, and returns its length in words.
  size_t step(std::span<const uint64_t> rest);
  // After the last instruction: what has to balance over a tile.
  void finish() const;

 private:
  struct Range {
    int64_t low, high;
    bool operator==(const Range&) const = default;
    bool overlaps(const Range& other) const { return low < other.high && other.low < high; }
  };

  [[noreturn]] void fail(const std::string& message) const;
  void check_fixed_part(const Instruction& insn) const;
  void check_extents(const Instruction& insn) const;
  void check_split(const Instruction& insn) const;
  void check_operand(const Instruction& insn, int operand);
  void check_scalar(const Instruction& insn, int operand);
  void check_slot(const Instruction& insn, int operand) const;
  void check_stream(const Instruction& insn, int operand);
  void check_stream_alignment(const Instruction& insn, int operand) const;
  void check_stream_bounds(const Instruction& insn, int operand) const;
  void check_access(const Instruction& insn, int operand) const;
  Range over_all_tiles(const Instruction& insn, int operand) const;
  bool may_share(const Instruction& insn, int a, int b) const;
  void check_overlap(const Instruction& insn, int destination) const;
  void check_sources_written(const Instruction& insn) const;
  void record_destination(const Instruction& insn, int operand);
  void check_chain(
      const Instruction& insn) const;  // its micro-ops; the operands by themselves hold
  void check_syncs(const Instruction& insn);

  int64_t operand_bytes(const Instruction& insn, int operand) const;
  Range slot_range(const Instruction& insn, int operand) const;
  Range footprint(const Instruction& insn, int operand, bool tail) const;
  Range over_grid(const Stream& stream, Range touched, int64_t first, int64_t last) const;
  static std::string name(Pipe src, Pipe dst, int event);

  const Program& program_;
  const TargetTraits& target_;
  int index_ = -1;                                          // of the current instruction
  std::string insn_name_;                                   // " (add)", once it is known
  int next_scalar_ = 0, next_stream_ = 0;                   // tables are in order of first use
  std::map<int64_t, int64_t> written_slots_;                // disjoint byte ranges: begin -> end
  std::vector<int64_t> written_streams_;                    // bytes per tile, by stream
  int64_t tokens_[kPipeCount][kPipeCount][kEventIds] = {};  // sets not yet waited for
};

}  // namespace dvm::vm
