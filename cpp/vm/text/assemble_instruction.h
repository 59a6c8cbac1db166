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
                    std::span<const DType> globals)
      : in_(in), builder_(builder), grid_(grid), globals_(globals) {}

  void parse();  // one instruction, from its mnemonic to the closing brace

 private:
  struct Parsed;

  void parse_mnemonic(Parsed& insn);
  void parse_operand(Parsed& insn);
  void parse_attribute(Parsed& insn);
  void parse_strides(Parsed& insn);
  void parse_tail(Parsed& insn);
  void parse_view(Parsed& insn);
  void parse_steps(Parsed& insn);
  uint8_t parse_place();
  void parse_syncs(Parsed& insn);
  void settle_sizes(Parsed& insn);
  void enter(const Parsed& insn);
  int64_t elements(int64_t bytes, DType dtype) const;
  void check_elements(std::span<const int64_t> extents) const;

  template <typename Enum>
  uint8_t parse_choice(int count, const char* what);

  core::TextLexer& in_;
  ProgramBuilder& builder_;
  std::span<const int64_t> grid_;
  std::span<const DType> globals_;
  InheritedTails tails_;
};

}  // namespace dvm::vm
