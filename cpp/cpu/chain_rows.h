// Chains over several rows, and such as sum rows, in pieces: bodies find the row of an element with
// a reciprocal that is exact for so many rows, and add up rows in lanes (core/sum_order.h) that lie
// here, in the first cache, until the plain kernels make totals of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/fp_flags.h"
#include "core/sum_order.h"
#include "cpu/kernels.h"
#include "cpu/simd_level.h"
#include "vm/chain.h"

namespace dvm::cpu {

template <typename T, typename RunPiece>
class ChainRows {
 public:
  ChainRows(const vm::ChainArgs& args, RunPiece& run_piece)
      : args_(args),
        run_piece_(run_piece),
        sums_(vm::sums_rows(*args.insn)),
        chunks_(vm::sum_chunks(args.columns)) {}

  // False where pieces cannot run it: then only what the chain writes may have changed.
  bool run() {
    const vm::Instruction& insn = *args_.insn;
    const bool short_rows = insn.m > 1 && args_.columns != insn.size;
    if (short_rows || (sums_ && chunks_ > core::kSumChunk)) return false;
    const int64_t columns = std::min(args_.columns, sums_ ? kMostLanes / 2 * 8 : kMostElements);
    int64_t rows = std::max<int64_t>(1, kMostElements / args_.columns);
    if (sums_) rows = std::clamp<int64_t>(kMostLanes / (core::kSumLanes * chunks_), 1, rows);
    const core::fp::State before = core::fp::get();
    for (int64_t row = 0; row < args_.rows; row += rows) {
      if (!run_rows(row, std::min(rows, args_.rows - row), columns)) {
        core::fp::set(before);
        return false;
      }
    }
    return true;
  }

 private:
  // Of a piece.
  static constexpr int64_t kMostElements = 65536;
  static constexpr int64_t kMostLanes = 2048;

  bool run_rows(int64_t row, int64_t rows, int64_t columns) {
    for (int64_t column = 0; column < args_.columns; column += columns) {
      const int64_t count = std::min(columns, args_.columns - column);
      const bool is_all = rows == args_.rows && count == args_.columns;
      vm::ChainArgs piece = is_all ? args_ : vm::part_of_chain(args_, row, rows, column, count);
      if (sums_) piece.operands[total_operand()] = reinterpret_cast<std::byte*>(lanes_);
      if (!run_piece_(piece)) return false;
      if (sums_) fold_lanes(rows, count, sums_of(row) + column / core::kSumChunk);
    }
    if (!sums_) return true;
    T* const totals = totals_of(row);
    if (chunks_ > 1) add_chunks(rows, totals);
    // The plain kernels find out what flags a NaN raises.
    return std::none_of(totals, totals + rows, [](T total) { return std::isnan(total); });
  }

  int total_operand() const { return args_.insn->micro_ops().back().dst - vm::kFirstOperand; }
  T* totals_of(int64_t row) const {
    return reinterpret_cast<T*>(args_.operands[total_operand()]) + row;
  }
  // Where the sums of the chunks from a row on go.
  T* sums_of(int64_t row) { return chunks_ > 1 ? chunk_sums_ : totals_of(row); }

  // The lanes hold each chunk of each row; of a last one that is short, its elements.
  void fold_lanes(int64_t rows, int64_t columns, T* sums) {
    const int64_t rest = columns % core::kSumChunk;
    const bool is_short = rest != 0 && rest < core::kSumLanes;
    const int64_t chunks = rows * vm::sum_chunks(columns) - is_short;
    if (chunks > 0) sum(chunks, core::kSumLanes, lanes_, sums);
    if (is_short) sum(1, rest, lanes_ + chunks * core::kSumLanes, sums + chunks);
  }
  void add_chunks(int64_t rows, T* totals) const {
    for (int64_t row = 0; row < rows; ++row) {
      const T* const sums = chunk_sums_ + row * chunks_;
      T total = sums[0];
      for (int64_t i = 1; i < chunks_; ++i) total += sums[i];
      totals[row] = total;
    }
  }
  static void sum(int64_t rows, int64_t size, const T* from, T* to) {
    const vm::Instruction insn{.insn = vm::Insn::sum,
                               .dtype = sizeof(T) == 4 ? core::DType::f32 : core::DType::f64};
    vm::TileArgs args{};
    args.m = rows;
    args.size = size;
    args.n = 1;
    args.aux = static_cast<uint8_t>(vm::ReduceOrder::lanes);
    args.dst = reinterpret_cast<std::byte*>(to);
    args.src[0] = reinterpret_cast<const std::byte*>(from);
    kernel_table(simd_level())(insn)(args);
  }

  const vm::ChainArgs& args_;
  RunPiece& run_piece_;
  const bool sums_;
  const int64_t chunks_;  // of a row
  alignas(64) T lanes_[kMostLanes];
  T chunk_sums_[core::kSumChunk];
};

template <typename T, typename RunPiece>
bool run_chain_rows(const vm::ChainArgs& args, RunPiece run_piece) {
  return ChainRows<T, RunPiece>(args, run_piece).run();
}

}  // namespace dvm::cpu
