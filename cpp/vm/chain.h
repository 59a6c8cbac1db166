// Chains as a target without a faster way runs them: block by block, micro-op after micro-op, with
// the target's own kernels for plain instructions. The banks are buffers that stay in L1.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "vm/tile_kernel.h"

namespace dvm::vm {

// A chain over the elements of one tile.
struct ChainArgs {
  const Instruction* insn;
  int64_t size;  // elements, tail already applied
  std::byte* operands[kMaxChainOperands];
};

inline constexpr int64_t kChainBlock = 256;

// Whether one element of the operand, of the pool or of memory, serves all elements of a chain.
inline bool is_repeated(const Instruction& chain, int operand) {
  return chain.operands()[operand].mode == Mode::scalar || is_one(chain, operand);
}

// Calls run(instruction, args) for each micro-op and block, as if it were an instruction of its
// own.
template <typename Run>
void run_chain(const ChainArgs& chain, Run run) {
  // One more than there are banks: a result never lies where a source of another width does.
  alignas(64) std::byte buffers[kBanks + 1][kChainBlock * sizeof(uint64_t)];
  int bank[kBanks] = {0, 1, 2}, spare = kBanks;
  const Instruction& insn = *chain.insn;
  for (int64_t begin = 0; begin < chain.size; begin += kChainBlock) {
    TileArgs args{};
    args.m = args.n = 1;
    args.size = std::min(kChainBlock, chain.size - begin);
    const auto at_operand = [&](int k) {
      const int64_t bytes = core::byte_size(operand_dtype(insn, k));
      return chain.operands[k] + (is_repeated(insn, k) ? 0 : begin * bytes);
    };
    for (const MicroOp& op : insn.micro_ops()) {
      args.aux = op.aux;
      args.scalar_mask = 0;
      for (int k = 0; k < 3 && op.src[k] != 0; ++k) {
        if (op.src[k] < kFirstOperand) {
          args.src[k] = buffers[bank[op.src[k] - kFirstBank]];
          continue;
        }
        const int operand = op.src[k] - kFirstOperand;
        args.src[k] = at_operand(operand);
        if (is_repeated(insn, operand)) {
          args.scalar_mask = static_cast<uint8_t>(args.scalar_mask | 1u << k);
        }
      }
      if (op.dst < kFirstOperand) {
        args.dst = buffers[spare];
        std::swap(spare, bank[op.dst - kFirstBank]);
      } else {
        args.dst = at_operand(op.dst - kFirstOperand);
      }
      Instruction step{.insn = op.insn, .dtype = op.dtype, .aux = op.aux};
      step.size = static_cast<uint32_t>(args.size);
      run(step, std::as_const(args));
    }
  }
}

}  // namespace dvm::vm
