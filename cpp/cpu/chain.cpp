// Runs a chain in registers: which bodies there are for it, which elements may be computed twice,
// and what to do where the bodies of a level raise too much.
#include "cpu/chain.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/fp_flags.h"
#include "cpu/chain_bodies.h"
#include "cpu/chain_translator.h"
#include "cpu/simd_level.h"

namespace dvm::cpu {

namespace {

using core::DType;
using vm::ChainArgs;
using vm::Insn;
using vm::MicroOp;

// Whether computing an element twice gives the same: nothing that is read is written over.
bool may_repeat(const ChainArgs& args) {
  const vm::Instruction& insn = *args.insn;
  const auto range = [&](int k) {
    const auto begin = reinterpret_cast<uint64_t>(args.operands[k]);
    const auto bytes = args.size * core::byte_size(vm::operand_dtype(insn, k));
    return std::pair(begin, begin + static_cast<uint64_t>(bytes));
  };
  for (int w = 0; w < insn.aux; ++w) {
    if (!vm::writes(insn, w)) continue;
    const auto [low, high] = range(w);
    for (int k = 0; k < insn.aux; ++k) {
      if (k == w || insn.operands()[k].mode == vm::Mode::scalar) continue;
      const auto [begin, end] = range(k);
      if (begin < high && low < end) return false;
    }
  }
  return true;
}

template <typename T>
bool run_chain_of(const ChainArgs& args, const ChainBodies& bodies) {
  chains::Translator<T> translator(args, bodies);
  if (!translator.run()) return false;
  const bool repeat = may_repeat(args);
  const int64_t bytes = args.size * static_cast<int64_t>(sizeof(T));
  if (!translator.may_fail()) return bodies.run(translator.program(), bytes, repeat);
  // Both are rare, and new flags make the plain kernels find out which of them are right.
  if (!repeat) return false;
  constexpr core::fp::State kFlags = core::fp::kInvalidBit | core::fp::kDivideBit |
                                     core::fp::kOverflowBit | core::fp::kUnderflowBit;
  const core::fp::State before = core::fp::get();
  const bool done = bodies.run(translator.program(), bytes, repeat);
  const bool raised = (core::fp::get() & ~before & kFlags) != 0;
  if (done && !(raised && bodies.raise_too_much)) return true;
  core::fp::set(before);
  return false;
}

// The width of the elements that are computed with, in bytes.
int width_of(const ChainArgs& args) {
  int width = sizeof(float);
  for (const MicroOp& op : args.insn->micro_ops()) {
    width = std::max(width, core::byte_size(op.dtype));
    if (op.insn == Insn::cast) {
      width = std::max(width, core::byte_size(static_cast<DType>(op.aux)));
    }
  }
  return width;
}

}  // namespace

bool has_chain_registers() { return chain_bodies(simd_level(), sizeof(float)) != nullptr; }

bool run_chain_in_registers(const ChainArgs& args) noexcept {
  const int width = width_of(args);
  const ChainBodies* bodies = chain_bodies(simd_level(), width);
  if (bodies == nullptr) return false;
  return width == sizeof(float) ? run_chain_of<float>(args, *bodies)
                                : run_chain_of<double>(args, *bodies);
}

}  // namespace dvm::cpu
