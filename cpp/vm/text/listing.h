// The text form of a Program, as far as printer (disassemble.cpp) and parser (assemble.cpp) share
// it. It is the listing of paper Fig. 6 made complete: as there, what follows `//` belongs to the
// Program, while `#` starts a comment.
//
//   program     := 'dvm.program' 'v1' 'target' '=' name '{' header {global} main '}'
//   header      := '//' 'target=0, block_dim=' int ', ffts_addr=0, tile_num=' int ', grid=' ints
//                  ', local_bytes=' int ', loop_flags=[' {src '_' dst} ']'
//   global      := 'g' int ':' dtype '[' low ',' high ')' ('read' | 'written')        bytes
//   main        := 'vmain.aiv' '(body_tile=' int ', tail_tile_diff=' int ')' '{' {instruction} '}'
//   instruction := int ':' mnemonic operand {',' operand} ['//' attribute {',' attribute}]
//                  '{' pipe {',' src '_' dst '_sync(' ('wait' | 'set') ',' event ')'} '}'
//   mnemonic    := name '.u8.' bytes 'x1'              loads and stores; the global has the dtype
//                | Name '.' dtype '.' [source dtype '.'] size    elementwise; Cast names both
//                | Name '.' dtype '.' [source dtype '.'] M 'x' size 'x' N     broadcast and reduce,
//                which names the dtype of its source where it is another one
//                | 'Chain.' [M 'x'] size                  operands have their own dtypes
//   operand     := '0x' hex                            slot
//                | 'g' int ['+' int | '-' int]         stream; its strides are in tile_stride
//                  ['rows' bytes]                      from one of its rows to the next
//                | number | ['-'] ('inf' | 'nan(' bits without the sign ')')      scalar
//                | role '.' dtype operand              of a chain
//   role        := 'in' | 'out' | 'one'                for each of its elements; for all of them
//                | 'row' | 'column' | 'total'          one per row, one per column, a sum per row
//   attribute   := 'view(' extent ':' stride, ... ')'  elements and bytes, outermost first
//                | 'tile_stride(' bytes per grid dimension, ... {';' the same of the next stream}
//                ')' | 'iter_tail(' extent in a tail tile ')'    in units of the mnemonic's dtype
//                | 'cmp_type(' ordering ')' | 'order(' 'lanes' | 'sequential' ')'
//                | 'steps(' place '=' Name '.' dtype ['.' source dtype | '.' ordering] place {','
//                place}
//                {';' the same of the next micro-op} ')'    place := 'a' | 'x' | 'y' | 'o' operand
//                | 'pad_size(0)' | 'dbg_size(' bytes stored by all tiles ')'
// iter_tail names the extent where there are several: 'iter_tail(m:5)', 'iter_tail(0:5)' (view dim
// 0), of a chain with an M too. Loads and stores without it have no tail. Elementwise instructions
// without it take over the tail of the latest instruction before them whose result has as many
// elements, and 'iter_tail(0)' stands for none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/text/text_lexer.h"
#include "vm/isa/program.h"

namespace dvm::vm {

// The paper writes fp16 and capitalises computing instructions.
std::string listing_dtype(DType dtype);
std::optional<DType> listing_dtype_from_text(std::string_view text);
DType parse_listing_dtype(core::TextLexer& in);
std::string listing_name(Insn insn);
std::optional<Insn> insn_from_listing_name(std::string_view name);

// A scalar of the pool as a literal that reads back to the same bits.
std::string listing_scalar(DType dtype, uint64_t bits);
uint64_t parse_listing_scalar(core::TextLexer& in, DType dtype);

// A place of a chain.
std::string listing_place(uint8_t place);
std::optional<uint8_t> place_from_listing(std::string_view text);

// "src_dst", and "src_dst_sync" of flags.
std::string listing_pipes(Pipe src, Pipe dst);
std::optional<Sync> sync_from_listing_name(std::string_view name);

// Of a chain: whether its extents and its tail are named.
inline bool has_rows(const Instruction& insn) { return insn.is_chain() && insn.m > 1; }

// How a chain uses its operands.
struct OperandRole {
  std::string_view name;
  bool written;
  Reach reach;
};
inline constexpr OperandRole kOperandRoles[] = {
    {"in", false, Reach::each},      {"out", true, Reach::each},
    {"one", false, Reach::one},      {"row", false, Reach::per_row},
    {"total", true, Reach::per_row}, {"column", false, Reach::per_column},
};

// Names of the extents that Split counts, from 1 on.
inline constexpr std::string_view kSplitNames[] = {"", "m", "size", "n"};

// Bytes a store writes over all tiles.
uint64_t stored_bytes(const Instruction& insn, std::span<const int64_t> grid, DType dtype);

// The tails elementwise instructions take over: elements of a result -> in a tail tile, 0 for none.
class InheritedTails {
 public:
  uint32_t of(uint32_t elements) const {
    const auto it = tails_.find(elements);
    return it == tails_.end() ? 0 : it->second;
  }
  void record(const Instruction& insn) {
    const auto elements = [&](bool tail) {
      const Extents e = extents(insn, tail);
      return insn.is_chain() ? e.m * e.size : operand_elements(insn, 0, tail);
    };
    tails_[elements(false)] = insn.split == 0 ? 0 : static_cast<uint32_t>(elements(true));
  }

 private:
  std::map<int64_t, uint32_t> tails_;
};

}  // namespace dvm::vm
