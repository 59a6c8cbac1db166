// Runs a chain in registers: which bodies there are for it, which elements may be computed twice,
// and what to do where the bodies of a level raise too much.
#include "cpu/chain.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
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
    const int64_t elements = vm::is_one(insn, k) ? 1 : args.size;
    const int64_t bytes = elements * core::byte_size(vm::operand_dtype(insn, k));
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

// False where the plain kernels have to run it; only what it writes may have changed then.
template <typename T>
bool run_piece(const ChainBodies& bodies, const ChainArgs& args, bool saved) {
  thread_local chains::Translator<T> translator;
  if (!translator.prepare(bodies, args)) return false;
  const bool repeat = may_repeat(args);
  const int64_t bytes = args.size * static_cast<int64_t>(sizeof(T));
  if (!translator.may_fail()) {
    bodies.run(translator.program(), bytes, repeat);
    return true;
  }
  // Rare, and new flags make the plain kernels find out which of them are right.
  if (!repeat && !saved) return false;
  constexpr core::fp::State kFlags = core::fp::kInvalidBit | core::fp::kDivideBit |
                                     core::fp::kOverflowBit | core::fp::kUnderflowBit;
  const core::fp::State before = core::fp::get();
  bodies.run(translator.program(), bytes, repeat);
  if ((core::fp::get() & ~before & kFlags) == 0) return true;
  core::fp::set(before);
  return false;
}

void run_plain(const ChainArgs& args, const vm::KernelTable& kernels) {
  vm::run_chain(
      args, [&](const vm::Instruction& insn, const vm::TileArgs& step) { kernels(insn)(step); });
}

// A chain that writes over what it reads: in pieces, whose memory is put back should one fail.
class OverItself {
 public:
  explicit OverItself(const ChainArgs& args) : args_(args) {}

  template <typename T>
  void run(const ChainBodies& bodies, const vm::KernelTable& kernels) {
    for (int64_t begin = 0; begin < args_.size; begin += kPiece) {
      const ChainArgs piece = piece_from(begin);
      const bool kept = keep(piece);
      if (run_piece<T>(bodies, piece, kept)) continue;
      if (kept) put_back();
      run_plain(piece, kernels);
    }
  }

 private:
  static constexpr int64_t kPiece = 1024;
  static constexpr int kMostKept = 2;

  ChainArgs piece_from(int64_t begin) const {
    ChainArgs piece = args_;
    piece.size = std::min(kPiece, args_.size - begin);
    for (int k = 0; k < args_.insn->aux; ++k) {
      if (vm::is_repeated(*args_.insn, k)) continue;
      piece.operands[k] += begin * core::byte_size(vm::operand_dtype(*args_.insn, k));
    }
    return piece;
  }
  // False where more is written than there is room for.
  bool keep(const ChainArgs& piece) {
    count_ = 0;
    for (int k = 0; k < piece.insn->aux; ++k) {
      if (!vm::writes(*piece.insn, k)) continue;
      if (count_ == kMostKept) return false;
      const int64_t bytes = piece.size * core::byte_size(vm::operand_dtype(*piece.insn, k));
      std::memcpy(kept_[count_], piece.operands[k], static_cast<size_t>(bytes));
      from_[count_++] = {piece.operands[k], bytes};
    }
    return true;
  }
  void put_back() const {
    for (int k = 0; k < count_; ++k) {
      std::memcpy(from_[k].data, kept_[k], static_cast<size_t>(from_[k].bytes));
    }
  }

  const ChainArgs& args_;
  int count_ = 0;
  struct {
    std::byte* data;
    int64_t bytes;
  } from_[kMostKept];
  alignas(64) std::byte kept_[kMostKept][kPiece * sizeof(double)];
};

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
  return width == sizeof(float) ? run_piece<float>(*bodies, args, false)
                                : run_piece<double>(*bodies, args, false);
}

void run_chain(const ChainArgs& args, const vm::KernelTable& kernels) noexcept {
  if (run_chain_in_registers(args)) return;
  const int width = width_of(args);
  const ChainBodies* bodies = chain_bodies(simd_level(), width);
  if (bodies == nullptr || may_repeat(args)) return run_plain(args, kernels);
  if (width == sizeof(float)) return OverItself(args).run<float>(*bodies, kernels);
  OverItself(args).run<double>(*bodies, kernels);
}

}  // namespace dvm::cpu
