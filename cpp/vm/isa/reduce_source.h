// What a reduction reads. NumPy sums small integers in 64 bits, takes means of integers in f64 and
// asks of numbers whether any is not 0: a cast, and a reduction of what it made. Some reductions
// have the cast in them and read what is in memory.
//
// Instruction::aux of a reduction has its order in bit 0, and the dtype of its source, plus one, in
// the bits above; 0 there stands for the dtype of its result.
#pragma once

#include "vm/isa/program.h"
#include "vm/tile/bind.h"

namespace dvm::vm {

constexpr uint8_t reduce_aux(ReduceOrder order, DType dtype, DType source) {
  const int code = source == dtype ? 0 : static_cast<int>(source) + 1;
  return static_cast<uint8_t>(static_cast<int>(order) | code << 1);
}
constexpr ReduceOrder reduce_order(uint8_t aux) { return static_cast<ReduceOrder>(aux & 1); }
constexpr DType reduced_dtype(DType dtype, uint8_t aux) {
  return aux < 2 ? dtype : static_cast<DType>((aux >> 1) - 1);
}

// Whether an instruction of that dtype may have a source of another one.
constexpr bool reads(Insn insn, DType dtype, ReduceOrder order, DType source) {
  const bool integer = !core::is_floating(source);
  switch (dtype) {
    case DType::boolean:
      return (insn == Insn::max || insn == Insn::min) && source != dtype;
    case DType::i64:
    case DType::u64:
      return accumulates(insn) && integer && core::byte_size(source) < core::byte_size(dtype);
    case DType::f64:
      return insn == Insn::sum && integer && order == ReduceOrder::sequential;
    default:
      return false;
  }
}

// Whether it is a reduction in the order of lanes of rows that lie apart.
inline bool reduces_rows_in_lanes(const Instruction& insn) {
  return info(insn.insn).format == Format::reduce && insn.operands()[1].mode == Mode::rows &&
         reduce_order(insn.aux) == ReduceOrder::lanes;
}
// Whether each of these rows has a result of its own: [M, size, 1], M rows of `size` elements.
inline bool reduces_each_row(const Instruction& insn) {
  return reduces_rows_in_lanes(insn) && insn.n == 1;
}
// Whether it gives a result for each chunk of its source (core/ops/sum_order.h): [1, size, N] are
// `size` rows of N elements, and what is reduced are all of them, one after the other; the last
// chunk may have fewer elements.
inline bool reduces_chunks(const Instruction& insn) {
  return reduces_rows_in_lanes(insn) && insn.n != 1;
}

// Has reductions of a tile's sources do the casts that are theirs alone: for targets whose operands
// are streams.
void spare_casts(Stage& stage);

}  // namespace dvm::vm
