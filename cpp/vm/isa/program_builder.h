// Writes a Program into words the caller owns, in one pass and without the heap. The encoder and
// the assembler both build through it: tables are filled in order of first use and identical
// entries are shared, so equal content always gives equal words.
//
//   ProgramBuilder b(target, words, grid);
//   b.add_global(...)                        all of them, before the first instruction
//   b.append({.insn = ..., .size = ...}, {{slot_operand(0x200), b.stream(0, 0, strides)}}, ...)
//   b.begin_loop(flags); ... b.end_loop();
//   Program p = b.finish(local_bytes, loop_flags);
//
// Nothing is checked beyond the limits of the encoding: that is verify()'s task.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/error.h"
#include "vm/isa/program.h"
#include "vm/target/target.h"

namespace dvm::vm {

// There are too few words for a Program, of which more would do.
class OutOfWords : public core::Error {
 public:
  explicit OutOfWords(size_t words)
      : Error(core::ErrorCode::unsupported, {},
              "Program exceeds the limit of " + std::to_string(words) + " words") {}
};

class ProgramBuilder {
 public:
  // `grid`: tiles per dimension, outermost first, at most kMaxRank; `loops`: steps of each loop, at
  // most kMaxLoops. Throws UnsupportedError here and below when a table or a length field is too
  // small, and OutOfWords where `words` are too few.
  ProgramBuilder(const TargetTraits& target, std::span<uint64_t> words,
                 std::span<const int64_t> grid, std::span<const int64_t> loops = {});

  int add_global(const Global& global);  // its index

  // Operands, each entered into its table when it is new.
  Operand scalar(DType dtype, Scalar value);
  Operand scalar_bits(uint64_t bits);
  // `strides`: bytes per step along each grid dimension, then along each loop.
  Operand stream(int global, int64_t offset, std::span<const int64_t> strides);

  // Appends an instruction; `words` and `syncs` of the fixed part are filled in, and so is `aux`
  // where there are view dims. Waits come before sets in `syncs`. The result lives until finish().
  const Instruction& append(Instruction fixed, std::span<const Operand> operands,
                            std::span<const Sync> syncs = {},
                            std::span<const ViewDim> view_dims = {},
                            std::span<const Tail> tails = {});
  const Instruction& append_attention(Instruction fixed, std::span<const Operand> operands,
                                      const AttentionWords& words, std::span<const Sync> syncs = {},
                                      std::span<const Tail> tails = {});
  // The same of a product of windows.
  const Instruction& append_product(Instruction fixed, std::span<const Operand> operands,
                                    const WindowWords& words, std::span<const Sync> syncs = {},
                                    std::span<const Tail> tails = {});
  // The same of a chain, which has no view dims; `aux` and `steps` are filled in too.
  const Instruction& append_chain(Instruction fixed, std::span<const Operand> operands,
                                  std::span<const MicroOp> steps, std::span<const Sync> syncs = {},
                                  std::span<const Tail> tails = {});
  // What is appended until end_loop() is the body of the next loop. Loops may be nested.
  void begin_loop(std::span<const Sync> syncs = {});
  void end_loop();

  // The finished Program, at the start of the words given.
  Program finish(uint32_t local_bytes, uint8_t loop_flags = 0);

 private:
  uint64_t* take(size_t words);
  // `extra`: what stands between the operands and the syncs.
  const Instruction& append_words(Instruction fixed, std::span<const Operand> operands,
                                  std::span<const std::byte> extra, std::span<const Tail> tails,
                                  std::span<const Sync> syncs);

  const TargetTraits& target_;
  std::span<uint64_t> words_;
  size_t used_ = 0, code_begin_ = 0;
  int64_t tile_count_ = 1;
  Pipes pipes_ = 0;  // of the instructions
  int grid_rank_ = 0, axes_ = 0, globals_ = 0, scalars_ = 0, streams_ = 0;
  int begun_loops_ = 0, open_loops_ = 0;
  size_t loop_begin_[kMaxLoops];  // of the open ones: the word of the instruction
  // The tables precede the code but grow along with it: they are kept here until finish().
  uint64_t scalar_table_[kMaxScalars];
  int64_t stream_table_[kMaxStreams * (2 + kMaxRank + kMaxLoops)];
};

// The pool's form of a scalar: the storage bits of one element.
uint64_t scalar_pool_bits(DType dtype, Scalar value);

}  // namespace dvm::vm
