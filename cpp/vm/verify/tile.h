// The rules of verify() that concern the code: each instruction by itself, what it touches, and how
// it follows from those before it. Header and tables have been verified.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
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
  struct Written {
    const Instruction* insn;
    int operand;
  };

  [[noreturn]] void fail(const std::string& message) const;
  void check_fixed_part(const Instruction& insn) const;
  void check_extents(const Instruction& insn) const;
  void check_tails(const Instruction& insn) const;
  void check_tail(const Instruction& insn, const Tail& tail) const;
  void check_matrix(const Instruction& insn) const;
  void check_attention(const Instruction& insn) const;
  void check_windows(const Instruction& insn) const;
  void open_loop(const Instruction& insn, size_t length, size_t rest);
  void close_loops();
  bool is_open(int loop) const;
  void check_operand(const Instruction& insn, int operand);
  void check_scalar(const Instruction& insn, int operand);
  void check_space(const Instruction& insn, int operand) const;
  void check_slot(const Instruction& insn, int operand) const;
  void check_stream(const Instruction& insn, int operand);
  void check_stream_alignment(const Instruction& insn, int operand) const;
  void check_stream_bounds(const Instruction& insn, int operand) const;
  void check_access(const Instruction& insn, int operand) const;
  // Calls check(range) with what the operand touches, over all tiles and steps, for each
  // choice of the axes that cut the instruction being at their end or before it.
  template <typename Check>
  void for_each_end(const Instruction& insn, int operand, Check check) const;
  Range over_all_tiles(const Instruction& insn, int operand) const;
  bool may_share(const Instruction& insn, int a, int b) const;
  void check_overlap(const Instruction& insn, int destination) const;
  void check_sources_written(const Instruction& insn) const;
  void record_destination(const Instruction& insn, int operand);
  void check_chain(
      const Instruction& insn) const;  // its micro-ops; the operands by themselves hold
  void check_syncs(const Instruction& insn);
  void check_flag(const Sync& sync) const;
  int64_t& tokens_of(const Sync& sync) {
    return tokens_[static_cast<size_t>(sync.src)][static_cast<size_t>(sync.dst)][sync.event];
  }
  void take_token(const Sync& sync);

  int64_t operand_bytes(const Instruction& insn, int operand) const;
  Range slot_range(const Instruction& insn, int operand) const;
  Range window_footprint(const Instruction& insn) const;
  Range footprint(const Instruction& insn, int operand, Ends ends) const;
  // The bytes from the first element on that an operand touches all of.
  int64_t unbroken(const Instruction& insn, int operand, Ends ends) const;
  // Whether a tile finds what it reads through a stream where it wrote through that.
  bool reads_back(const Instruction& insn, int operand, const Written& written) const;
  // `touched` over all tiles and steps: of the axes `at_end` the last alone, of those `before_end`
  // all but the last.
  Range over_axes(const Stream& stream, Range touched, Ends at_end, Ends before_end) const;
  // Of an axis; 0 where there is none.
  int64_t steps_along(int axis) const;
  static std::string name(Pipe src, Pipe dst, int event);

  const Program& program_;
  const TargetTraits& target_;
  int index_ = -1;                                         // of the current instruction
  std::string insn_name_;                                  // " (add)", once it is known
  int next_scalar_ = 0, next_stream_ = 0;                  // tables are in order of first use
  std::map<int64_t, int64_t> written_slots_[kSpaceCount];  // disjoint byte ranges: begin -> end
  std::vector<std::vector<Written>> written_streams_;      // who writes, by stream
  // Sets not yet waited for.
  using Tokens = std::array<std::array<std::array<int64_t, kEventIds>, kPipeCount>, kPipeCount>;
  Tokens tokens_{};
  struct OpenLoop {
    int loop;
    size_t end;     // of its body, in words
    Tokens tokens;  // at the start of each step
    std::span<const Sync> syncs;
  };
  std::vector<OpenLoop> open_;  // outermost first
  size_t position_ = 0;         // words so far
  Pipes pipes_ = 0;             // of the instructions so far
  int next_loop_ = 0;
};

}  // namespace dvm::vm
