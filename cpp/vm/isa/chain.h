// Chains as a target without a faster way runs them: block by block, micro-op after micro-op, with
// the target's own kernels for plain instructions. The banks are buffers that stay in L1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/ops/fp_flags.h"
#include "core/ops/sum_order.h"
#include "vm/run/tile_kernel.h"

namespace dvm::vm {

// A chain over the elements of one tile, tail already applied.
struct ChainArgs {
  const Instruction* insn;
  int64_t rows, columns;
  std::byte* operands[kMaxChainOperands];

  int64_t size() const { return rows * columns; }
};

// Elements from the start of an operand to what it holds for the element at (row, column).
inline int64_t chain_offset(const ChainArgs& chain, int operand, int64_t row, int64_t column) {
  const Operand& place = chain.insn->operands()[operand];
  if (place.mode == Mode::scalar) return 0;
  switch (reach(*chain.insn, operand)) {
    case Reach::each:
      if (const auto stride = row_stride(place)) {
        return row * (*stride / core::byte_size(operand_dtype(*chain.insn, operand))) + column;
      }
      return row * chain.columns + column;
    case Reach::per_row:
      return row;
    case Reach::one:
      return 0;
    case Reach::per_column:
      return column;
  }
  __builtin_unreachable();
}

inline std::byte* chain_address(const ChainArgs& chain, int operand, int64_t row, int64_t column) {
  return chain.operands[operand] + chain_offset(chain, operand, row, column) *
                                       core::byte_size(operand_dtype(*chain.insn, operand));
}

// The parts of a chain, which are many: rows may be short.
class ChainParts {
 public:
  explicit ChainParts(const ChainArgs& chain) : chain_(chain) {
    for (int k = 0; k < chain.insn->aux; ++k) {
      row_bytes_[k] = chain_address(chain, k, 1, 0) - chain.operands[k];
      element_bytes_[k] = chain_address(chain, k, 0, 1) - chain.operands[k];
    }
  }
  // Of each operand, from one row to the next.
  const int64_t* row_bytes() const { return row_bytes_; }
  // Rows [row, row + rows), and of each the columns [column, column + columns); several rows have
  // to be whole.
  ChainArgs part(int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    ChainArgs part;
    part.insn = chain_.insn;
    part.rows = rows;
    part.columns = columns;
    for (int k = 0; k < chain_.insn->aux; ++k) {
      part.operands[k] = chain_.operands[k] + row * row_bytes_[k] + column * element_bytes_[k];
    }
    return part;
  }

 private:
  const ChainArgs& chain_;
  int64_t row_bytes_[kMaxChainOperands], element_bytes_[kMaxChainOperands];
};

inline bool sums_rows(const Instruction& chain) {
  return chain.micro_ops().back().insn == Insn::sum;
}

// One block of a row, as long as a chunk of a sum, so that sums are those of core/ops/sum_order.h.
inline constexpr int64_t kChainBlock = core::kSumChunk;

template <typename Run>
class ChainBlocks {
 public:
  ChainBlocks(const ChainArgs& chain, Run& run) : chain_(chain), run_(run) {}

  void run_all() {
    for (int64_t row = 0; row < chain_.rows; ++row) {
      if (!sums_rows(*chain_.insn)) {
        for (int64_t column = 0; column < chain_.columns; column += kChainBlock) {
          run_block(row, column, std::min(kChainBlock, chain_.columns - column), nullptr);
        }
        continue;
      }
      const MicroOp& sum = chain_.insn->micro_ops().back();
      sum.dtype == DType::f32 ? sum_row<float>(row, sum) : sum_row<double>(row, sum);
    }
  }

 private:
  // Of the row at hand, for its sum.
  struct Seen {
    bool infinity = false, minus_infinity = false;
  };

  template <typename T>
  void sum_row(int64_t row, const MicroOp& sum) {
    Seen seen;
    const T total = core::combine_chunks<T>(
        chain_.columns,
        [&](int64_t begin, int64_t count) {
          T chunk{};
          run_block(row, begin, count, reinterpret_cast<std::byte*>(&chunk));
          if (!std::isfinite(chunk)) look_for_infinities<T>(sum, count, seen);
          return chunk;
        },
        [](T x, T y) { return x + y; });
    // As a sum of its own raises it (cpu/reduce/reduce-inl.h).
    if (std::isnan(total) && seen.infinity && seen.minus_infinity) core::raise(core::kInvalid);
    std::memcpy(chain_address(chain_, sum.dst - kFirstOperand, row, 0), &total, sizeof(total));
  }
  template <typename T>
  void look_for_infinities(const MicroOp& sum, int64_t count, Seen& seen) const {
    const auto* values = reinterpret_cast<const T*>(buffers_[bank_[sum.src[0] - kFirstBank]]);
    for (int64_t i = 0; i < count; ++i) {
      seen.infinity |= std::isinf(values[i]) && !std::signbit(values[i]);
      seen.minus_infinity |= std::isinf(values[i]) && std::signbit(values[i]);
    }
  }

  // Whether one element of the operand serves all elements of a block.
  bool is_repeated(int k) const {
    const Reach whom = reach(*chain_.insn, k);
    return chain_.insn->operands()[k].mode == Mode::scalar || whom == Reach::one ||
           whom == Reach::per_row;
  }

  // A sum goes to `total`.
  void run_block(int64_t row, int64_t column, int64_t count, std::byte* total) {
    TileArgs args{};
    args.m = args.n = 1;
    args.size = count;
    for (const MicroOp& op : chain_.insn->micro_ops()) {
      args.aux = op.aux;
      args.scalar_mask = 0;
      for (int k = 0; k < 3 && op.src[k] != 0; ++k) {
        if (op.src[k] < kFirstOperand) {
          args.src[k] = buffers_[bank_[op.src[k] - kFirstBank]];
          continue;
        }
        const int operand = op.src[k] - kFirstOperand;
        args.src[k] = chain_address(chain_, operand, row, column);
        if (is_repeated(operand)) {
          args.scalar_mask = static_cast<uint8_t>(args.scalar_mask | 1u << k);
        }
      }
      if (op.insn == Insn::sum) {
        args.dst = total;
      } else if (op.dst < kFirstOperand) {
        args.dst = buffers_[spare_];
        std::swap(spare_, bank_[op.dst - kFirstBank]);
      } else {
        args.dst = chain_address(chain_, op.dst - kFirstOperand, row, column);
      }
      Instruction step{.insn = op.insn, .dtype = op.dtype, .aux = op.aux};
      step.size = static_cast<uint32_t>(count);
      run_(step, std::as_const(args));
    }
  }

  const ChainArgs& chain_;
  Run& run_;
  // One more than there are banks: a result never lies where a source of another width does.
  alignas(64) std::byte buffers_[kBanks + 1][kChainBlock * sizeof(uint64_t)];
  int bank_[kBanks] = {0, 1, 2}, spare_ = kBanks;
};

// Calls run(instruction, args) for each micro-op and block, as if it were an instruction of its
// own.
template <typename Run>
void run_chain(const ChainArgs& chain, Run run) {
  ChainBlocks<Run>(chain, run).run_all();
}

}  // namespace dvm::vm
