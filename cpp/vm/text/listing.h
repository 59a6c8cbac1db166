// The text form of a Program, as far as printer (disassemble.cpp) and parser (assemble.cpp) share
// it. It is the listing of paper Fig. 6 made complete: as there, what follows `//` belongs to the
// Program, while `#` starts a comment.
//
//   program     := 'dvm.program' 'v1' 'target' '=' name '{' header {global} main '}'
//   header      := '//' 'target=' ('0' | '1' | '2') ', block_dim=' int ', ffts_addr=0, tile_num='
//   int ', grid=' ints
//                  [', loops=' ints] ', local_bytes=' int ', loop_flags=[' {src '_' dst} ']'
//   global      := 'g' int ':' dtype '[' low ',' high ')' ('read' | 'written')        bytes
//   main        := 'vmain.' ('aiv' | 'aic' | 'mix') '(body_tile=' int ', tail_tile_diff=' int ')'
//                  '{' {instruction} '}'
//   instruction := int ':' mnemonic operand {',' operand} ['//' attribute {',' attribute}]
//                  '{' pipe {',' src '_' dst '_sync(' ('wait' | 'set' | 'carry') ',' event ')'} '}'
//   mnemonic    := name '.u8.' bytes 'x1'              loads and stores; the global has the dtype
//                | Name '.' dtype '.' [source dtype '.'] size    elementwise; Cast names both
//                | Name '.' dtype '.' [source dtype '.'] M 'x' size 'x' N     broadcast and reduce,
//                which names the dtype of its source where it is another one
//                | 'Matmul.' dtype '.' [source dtype '.'] M 'x' K 'x' N
//                | ('Attend' | 'Attend_masked' | 'Attend_biased') '.' dtype '.' [source dtype '.']
//                M 'x' rows of k 'x' N
//                | 'Chain.' [M 'x'] size                  operands have their own dtypes
//                | 'Loop.' steps                          of the instructions that body() counts
//   operand     := [space ':'] '0x' hex                slot; without a space in UB
//                | 'g' int ['+' int | '-' int]         stream; its strides are in tile_stride
//                  ['rows' bytes]                      from one of its rows to the next
//                | number | ['-'] ('inf' | 'nan(' bits without the sign ')')      scalar
//                | role '.' dtype operand              of a chain
//   role        := 'in' | 'out' | 'one'                for each of its elements; for all of them
//                | 'row' | 'column' | 'total'          one per row, one per column, a sum per row
//   attribute   := 'view(' extent ':' stride, ... ')'  elements and bytes, outermost first
//                | 'tile_stride(' bytes per grid dimension and per loop, ...
//                {';' the same of the next stream} ')'
//                | 'iter_tail(' extent in a tail tile ')'    in units of the mnemonic's dtype
//                | 'iter_tail(' tail {';' tail} ')'          tail := extent ':' int ['@' axis]
//                axis := int | 'loop' int                    grid dimensions outwards from 1; loops
//                | 'cmp_type(' ordering ')' | 'order(' 'lanes' | 'sequential' ')'
//                | 'steps(' place '=' Name '.' dtype ['.' source dtype | '.' ordering] place {','
//                place}
//                {';' the same of the next micro-op} ')'    place := 'a' | 'x' | 'y' | 'o' operand
//                | 'pad_size(0)' | 'dbg_size(' bytes stored by all tiles ')'
//                | 'index(' view dim ':' how many indices there are ')' of a gather
//                | 'body(' instructions ')' of a loop | 'adds(' loop ')' of a product of matrices
//                | 'depth(' elements ')' | 'scale(' number ')' | 'fill(' number ')' of attentions,
//                and 'last(' row of k that row 0 of q sees last ')' of causal ones
// iter_tail names the extent where there are several: 'iter_tail(m:5)', 'iter_tail(0:5)' (view dim
// 0), of elements in M rows too, and where the tail is at the end of another axis than the
// innermost grid dimension: 'iter_tail(m:5@1; size:3@loop0)'. Loads and stores without it have no
// tail. Elementwise instructions without it take over the tail of the latest instruction before
// them whose result has as many elements, and 'iter_tail(0)' stands for none.
#pragma once

#include <array>
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

// Of linear formats: whether extents and tails are named.
inline bool has_rows(const Instruction& insn) {
  return info(info(insn.insn).format).extents == ExtentKind::linear && insn.m > 1;
}

// "1", or "loop0".
std::string listing_axis(int axis);

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

// Names of SyncKind.
inline constexpr std::string_view kSyncKindNames[] = {"wait", "set", "carry"};

// Names of the extents that Split counts, from 1 on.
inline constexpr std::string_view kSplitNames[] = {"", "m", "size", "n"};

// Steps along each axis: 1 along those that an instruction is not in.
using AxisSteps = std::array<int64_t, kAxisCount>;
AxisSteps axis_steps(std::span<const int64_t> grid, std::span<const int64_t> loops,
                     std::span<const int> around);
// Bytes a store writes over all tiles and steps.
uint64_t stored_bytes(const Instruction& insn, const AxisSteps& steps, DType dtype);

// The tails elementwise instructions take over: elements of a result -> in a tail tile, 0 for none.
class InheritedTails {
 public:
  uint32_t of(uint32_t elements) const {
    const auto it = tails_.find(elements);
    return it == tails_.end() ? 0 : it->second;
  }
  void record(const Instruction& insn) {
    const auto elements = [&](Ends ends) {
      const Extents e = extents(insn, ends);
      return insn.is_chain() ? e.m * e.size : operand_elements(insn, 0, ends);
    };
    const bool inherits = insn.split != 0 && insn.tails == 0;
    tails_[elements(0)] = inherits ? static_cast<uint32_t>(elements(1)) : 0;
  }

 private:
  std::map<int64_t, uint32_t> tails_;
};

}  // namespace dvm::vm
