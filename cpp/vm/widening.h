// Reductions that read narrower elements than those they compute with: sums and products in 64-bit
// integers, of which NumPy makes nearly all, take integers and bools of any size as they are in
// memory. What is widened first is eight times as much to write, and to read again.
//
// Instruction::aux of a reduction has its order in bit 0, and the dtype of its source, plus one, in
// the bits above; 0 there stands for the dtype of its result.
#pragma once

#include "vm/bind.h"
#include "vm/program.h"

namespace dvm::vm {

constexpr uint8_t reduce_aux(ReduceOrder order, DType dtype, DType source) {
  const int code = source == dtype ? 0 : static_cast<int>(source) + 1;
  return static_cast<uint8_t>(static_cast<int>(order) | code << 1);
}
constexpr ReduceOrder reduce_order(uint8_t aux) { return static_cast<ReduceOrder>(aux & 1); }
constexpr DType reduced_dtype(DType dtype, uint8_t aux) {
  return aux < 2 ? dtype : static_cast<DType>((aux >> 1) - 1);
}

// Whether an instruction of that dtype may have that source.
constexpr bool widens(Insn insn, DType dtype, DType source) {
  return (insn == Insn::sum || insn == Insn::prod) &&
         (dtype == DType::i64 || dtype == DType::u64) && !core::is_floating(source) &&
         core::byte_size(source) < core::byte_size(dtype);
}

// Has reductions read what casts would widen for them alone, and drops those casts: for targets
// whose operands are streams.
void read_narrow(Stage& stage);

}  // namespace dvm::vm
