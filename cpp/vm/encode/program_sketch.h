// A Program as it is written down, instruction after instruction and with loops, before it is known
// which flags they need: for encoders that make one now and then, and may take from the heap.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "vm/encode/flags.h"
#include "vm/encode/slots.h"
#include "vm/isa/program.h"
#include "vm/isa/program_builder.h"

namespace dvm::vm {

class ProgramSketch {
 public:
  // `grid`: tiles per dimension, outermost first.
  ProgramSketch(const TargetTraits& target, std::vector<int64_t> grid);

  int add_global(const Global& global);  // its index
  // Operands: a slot of its own in some memory, an element of the scalar pool, and what moves
  // through a global by that many bytes per tile along the grid, and per step of the innermost open
  // loop.
  Operand slot(int64_t elements, DType dtype, Space space = Space::ub);
  Operand scalar(DType dtype, Scalar value);
  Operand stream(int global, int64_t offset, std::vector<int64_t> grid_strides,
                 int64_t loop_stride = 0);

  // Streams among the operands may be turned into rows or columns.
  void append(const Instruction& fixed, std::vector<Operand> operands,
              std::vector<ViewDim> view = {}, std::vector<Tail> tails = {});
  void append_attention(const Instruction& fixed, std::vector<Operand> operands,
                        const AttentionWords& words, std::vector<Tail> tails);
  // What is appended until end_loop() is done in each of `steps` steps; at most kMaxTiles.
  void begin_loop(int64_t steps);
  void end_loop();

  // The Program, with its flags, at the start of `words`; verified where core::verifies().
  // `own`: as of verify_if_asked().
  Program finish(std::span<uint64_t> words, int own = -1) const;

 private:
  struct Line {
    Instruction fixed;
    int16_t around;  // the loop that it is in: its line
    std::vector<Operand> operands;
    std::vector<ViewDim> view;
    std::vector<Tail> tails;
    AttentionWords attention = {};
  };
  struct Course {
    int global;
    int64_t offset;
    std::vector<int64_t> grid_strides;
    int loop;  // kNoLoop
    int64_t loop_stride;
  };

  Operand enter(ProgramBuilder& builder, const Operand& operand) const;
  // With these flags, or none. Appends what each instruction uses.
  Program build(std::span<uint64_t> words, std::vector<SlotUse>& uses,
                std::span<const SyncList> syncs, uint8_t loop_flags) const;

  const TargetTraits& target_;
  const std::vector<int64_t> grid_;
  std::vector<SlotAllocator> slots_;  // by Space
  std::vector<Global> globals_;
  std::vector<uint64_t> scalars_;
  std::vector<Course> streams_;
  std::vector<int64_t> loops_;  // steps
  std::vector<Line> lines_;
  int16_t around_ = SlotUse::kNoLoop;
};

}  // namespace dvm::vm
