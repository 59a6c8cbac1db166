// Parses the instructions of a listing into a ProgramBuilder; the grammar is in vm/text/listing.h.
#pragma once

#include <span>
#include <vector>

#include "core/text/text_lexer.h"
#include "vm/isa/program_builder.h"
#include "vm/text/listing.h"

namespace dvm::vm {

class InstructionParser {
 public:
  // `globals`: the dtypes of the globals declared.
  InstructionParser(core::TextLexer& in, ProgramBuilder& builder, std::span<const int64_t> grid,
                    std::span<const int64_t> loops, std::span<const DType> globals)
      : in_(in), builder_(builder), grid_(grid), loops_(loops), globals_(globals) {}

  void parse();   // one instruction, from its mnemonic to the closing brace
  void finish();  // behind the last one

 private:
  struct Parsed;

  Insn parse_name();
  void parse_mnemonic(Parsed& insn);
  void parse_operand(Parsed& insn);
  void parse_attribute(Parsed& insn);
  void parse_strides(Parsed& insn);
  void parse_tails(Parsed& insn);
  int parse_axis();
  void parse_view(Parsed& insn);
  void parse_windows(WindowWords& words);
  void parse_steps(Parsed& insn);
  uint8_t parse_place();
  void parse_syncs(Parsed& insn);
  void settle_sizes(Parsed& insn);
  void enter(const Parsed& insn);
  void enter_loop(const Parsed& insn);
  void close_loops();
  int64_t elements(int64_t bytes, DType dtype) const;
  void check_elements(std::span<const int64_t> extents) const;

  template <typename Enum>
  uint8_t parse_choice(int count, const char* what);

  core::TextLexer& in_;
  ProgramBuilder& builder_;
  std::span<const int64_t> grid_, loops_;
  std::span<const DType> globals_;
  InheritedTails tails_;
  struct OpenLoop {
    int loop;
    int64_t left;  // instructions of its body
  };
  std::vector<OpenLoop> open_;  // outermost first
  int next_loop_ = 0;
};

}  // namespace dvm::vm
