// Chains over several rows, and such as sum rows, in pieces: bodies take whole units of several
// rows as one run, of which they find the row of an element with a reciprocal that is exact for so
// many rows, or else one row after the other. They add up rows in lanes (core/ops/sum_order.h),
// which end up here, in the first cache, and which the plain kernels make totals of. Of whole
// blocks, lanes are registers where the chain leaves enough of them free; of what remains, they are
// here all the time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include "core/ops/fp_flags.h"
#include "core/ops/sum_order.h"
#include "cpu/chain/bodies.h"
#include "cpu/kernels.h"
#include "cpu/simd_level.h"
#include "vm/isa/chain.h"
#include "vm/tile/tile_rows.h"

namespace dvm::cpu {

// Whether the lanes of the sum that a chain ends with find room in registers.
inline bool has_lanes(const ChainBodies& bodies, const vm::Instruction& chain) {
  if (bodies.lane_banks == 0) return false;
  const int end = vm::kFirstBank + vm::kBanks - bodies.lane_banks;
  const auto is_taken = [&](uint8_t place) { return place >= end && place < vm::kFirstOperand; };
  return std::ranges::none_of(chain.micro_ops(), [&](const vm::MicroOp& op) {
    return is_taken(op.dst) || std::ranges::any_of(op.src, is_taken);
  });
}

// What is known of a piece: `in_lanes` as Translator::prepare says, `saved` where what it writes
// can be put back, `repeats` where it is part of what may_repeat(); with `row_bytes` it is the
// first of so many `rows`, of which those are the bytes from one to the next. Passed by reference:
// as a value it is stored by bytes and read as one word, for which short rows wait longer than they
// compute.
struct PieceKind {
  bool in_lanes = false, saved = false, repeats = false;
  int64_t rows = 1;
  const int64_t* row_bytes = nullptr;
};

// Whether what the chain writes lies in rows that are apart: bodies write what is one run.
inline bool writes_rows_apart(const vm::Instruction& chain) {
  for (int k = 0; k < chain.aux; ++k) {
    if (vm::writes(chain, k) && vm::row_stride(chain.operands()[k])) return true;
  }
  return false;
}

template <typename T, typename RunPiece>
class ChainRows {
 public:
  ChainRows(const ChainBodies& bodies, const vm::ChainArgs& args, bool in_lanes, bool repeats,
            RunPiece& run_piece)
      : bodies_(bodies),
        args_(args),
        parts_(args),
        run_piece_(run_piece),
        sums_(vm::sums_rows(*args.insn)),
        in_lanes_(in_lanes),
        repeats_(repeats),
        one_by_one_(writes_rows_apart(*args.insn)),
        chunks_(core::sum_chunks(args.columns)) {}

  // False where pieces cannot run it: then only what the chain writes may have changed.
  bool run() {
    if (sums_ && chunks_ > core::kSumChunk) return false;
    const int64_t columns = std::min(args_.columns, sums_ ? kMostLanes / 2 * 8 : kMostElements);
    int64_t rows = std::max<int64_t>(1, kMostElements / args_.columns);
    if (sums_) rows = std::clamp<int64_t>(kMostLanes / lanes_of_row(args_.columns), 1, rows);
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
      const bool alone = one_by_one_ || vm::are_alone(count);
      if (!sums_) {
        const vm::ChainArgs piece = parts_.part(row, alone ? 1 : rows, column, count);
        PieceKind kind{.repeats = repeats_, .rows = alone ? rows : 1};
        if (alone) kind.row_bytes = parts_.row_bytes();
        if (!run_piece_(piece, kind)) return false;
        continue;
      }
      if (alone && count < core::kSumChunk) {
        if (!fill_short_rows(row, rows, column, count)) return false;
      } else if (!fill_long_rows(row, rows, alone ? 1 : rows, column, count)) {
        return false;
      }
      fold_lanes(rows, count, sums_of(row) + column / core::kSumChunk);
    }
    if (!sums_) return true;
    T* const totals = totals_of(row);
    if (chunks_ > 1) add_chunks(rows, totals);
    // The plain kernels find out what flags a NaN raises.
    return std::none_of(totals, totals + rows, [](T total) { return std::isnan(total); });
  }

  // Of rows that are shorter than the lanes, elements are all there is to add up.
  static int64_t lanes_of_row(int64_t columns) {
    return std::min(columns, core::sum_chunks(columns) * core::kSumLanes);
  }
  // Rows of less than a chunk.
  bool fill_short_rows(int64_t row, int64_t rows, int64_t column, int64_t columns) {
    vm::ChainArgs first = parts_.part(row, 1, column, columns);
    first.operands[total_operand()] = reinterpret_cast<std::byte*>(lanes_);
    int64_t row_bytes[vm::kMaxChainOperands];
    std::copy_n(parts_.row_bytes(), args_.insn->aux, row_bytes);
    row_bytes[total_operand()] = lanes_of_row(columns) * int64_t{sizeof(T)};
    return run_piece_(first, {.repeats = repeats_, .rows = rows, .row_bytes = row_bytes});
  }
  bool fill_long_rows(int64_t row, int64_t rows, int64_t at_once, int64_t column, int64_t columns) {
    T* lanes = lanes_;
    for (int64_t i = 0; i < rows; i += at_once) {
      if (!fill_lanes(row + i, at_once, column, columns, lanes)) return false;
      lanes += at_once * core::sum_chunks(columns) * core::kSumLanes;
    }
    return true;
  }
  bool fill_lanes(int64_t row, int64_t rows, int64_t column, int64_t columns, T* lanes) {
    const int64_t block = bodies_.block_bytes / static_cast<int64_t>(sizeof(T));
    const bool in_lanes = in_lanes_ && (rows == 1 || columns % core::kSumLanes == 0);
    int64_t whole_rows = in_lanes ? rows : 0, whole_columns = columns;
    if (in_lanes && rows == 1) {
      whole_columns = columns % std::max(block, core::kSumLanes) == 0
                          ? columns
                          : columns / core::kSumChunk * core::kSumChunk;
    } else if (in_lanes && rows * columns % block != 0) {
      --whole_rows;  // a row is a unit at least, two of them are a block
    }
    if (whole_rows * whole_columns > 0 &&
        !fill_in_blocks(row, whole_rows, column, whole_columns, lanes)) {
      return false;
    }
    const bool is_row = whole_rows < rows;
    if (!is_row && whole_columns == columns) return true;
    vm::ChainArgs rest = is_row
                             ? parts_.part(row + whole_rows, rows - whole_rows, column, columns)
                             : parts_.part(row, 1, column + whole_columns, columns - whole_columns);
    const int64_t chunks = is_row ? whole_rows * chunks_ : whole_columns / core::kSumChunk;
    rest.operands[total_operand()] = reinterpret_cast<std::byte*>(lanes + chunks * core::kSumLanes);
    return run_piece_(rest, {.repeats = repeats_});
  }
  bool fill_in_blocks(int64_t row, int64_t rows, int64_t column, int64_t columns, T* lanes) {
    const int64_t units = columns / core::kSumLanes;
    const int64_t chunk = std::min(units, core::kSumChunk / core::kSumLanes);
    SumCursor cursor{chunk, units - chunk, units, reinterpret_cast<std::byte*>(lanes)};
    vm::ChainArgs piece = parts_.part(row, rows, column, columns);
    piece.operands[total_operand()] = reinterpret_cast<std::byte*>(&cursor);
    return run_piece_(piece, {.in_lanes = true, .repeats = repeats_});
  }

  int total_operand() const { return args_.insn->micro_ops().back().dst - vm::kFirstOperand; }
  T* totals_of(int64_t row) const {
    return reinterpret_cast<T*>(args_.operands[total_operand()]) + row;
  }
  // Where the sums of the chunks from a row on go.
  T* sums_of(int64_t row) { return chunks_ > 1 ? chunk_sums_ : totals_of(row); }

  // The lanes hold each chunk of each row; of a last one that is short, its elements.
  void fold_lanes(int64_t rows, int64_t columns, T* sums) const {
    const int64_t chunks = core::sum_chunks(columns), rest = columns % core::kSumChunk;
    if (columns < core::kSumLanes) return sum(rows, columns, lanes_, sums);
    if (rest == 0 || rest >= core::kSumLanes)
      return sum(rows * chunks, core::kSumLanes, lanes_, sums);
    const T* lanes = lanes_;
    for (int64_t row = 0; row < rows; ++row, lanes += chunks * core::kSumLanes, sums += chunks) {
      if (chunks > 1) sum(chunks - 1, core::kSumLanes, lanes, sums);
      sum(1, rest, lanes + (chunks - 1) * core::kSumLanes, sums + chunks - 1);
    }
  }
  void add_chunks(int64_t rows, T* totals) const {
    for (int64_t row = 0; row < rows; ++row) {
      const T* const sums = chunk_sums_ + row * chunks_;
      totals[row] = core::combine_runs<T>(
          chunks_, [&](int64_t i) { return sums[i]; }, std::plus<T>());
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

  const ChainBodies& bodies_;
  const vm::ChainArgs& args_;
  const vm::ChainParts parts_;
  RunPiece& run_piece_;
  const bool sums_, in_lanes_, repeats_;
  const bool one_by_one_;  // whatever their length
  const int64_t chunks_;   // of a row
  alignas(64) T lanes_[kMostLanes];
  T chunk_sums_[core::kSumChunk];
};

// `in_lanes`: what has_lanes() says, of a chain that ends with a sum; `repeats`: what may_repeat()
// does.
template <typename T, typename RunPiece>
bool run_chain_rows(const ChainBodies& bodies, const vm::ChainArgs& args, bool in_lanes,
                    bool repeats, RunPiece run_piece) {
  return ChainRows<T, RunPiece>(bodies, args, in_lanes, repeats, run_piece).run();
}

}  // namespace dvm::cpu
