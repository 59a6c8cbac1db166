// Runs a chain in registers: which bodies there are for it, which elements may be computed twice,
// and what to do where the bodies of a level raise too much.
#include "cpu/chain/chain.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "core/ops/fp_flags.h"
#include "cpu/chain/bodies.h"
#include "cpu/chain/rows.h"
#include "cpu/chain/translator.h"
#include "cpu/simd_level.h"

namespace dvm::cpu {

namespace {

using core::DType;
using vm::ChainArgs;
using vm::Insn;
using vm::MicroOp;

// The width of the elements that are computed with, in bytes.
int width_of(const vm::Instruction& insn) {
  int width = sizeof(float);
  for (const MicroOp& op : insn.micro_ops()) {
    width = std::max(width, core::byte_size(op.dtype));
    if (op.insn == Insn::cast) {
      width = std::max(width, core::byte_size(static_cast<DType>(op.aux)));
    }
  }
  return width;
}

// What tiles need not find out anew: the chains of a Program take turns, tile by tile.
struct KnownChain {
  const vm::Instruction* insn = nullptr;
  uint64_t era = 0;
  int width = 0;
  std::optional<bool> repeats;  // may_repeat(), once somebody has asked; of sums also:
  bool may_use_lanes = false;   // has_lanes()
  // The second ones for sums in registers: rests of a tile take turns with it.
  chains::Translator<float> of_floats[2];
  chains::Translator<double> of_doubles[2];

  template <typename T>
  chains::Translator<T>& translator(bool in_lanes) {
    if constexpr (sizeof(T) == sizeof(float)) {
      return of_floats[in_lanes];
    } else {
      return of_doubles[in_lanes];
    }
  }
};
thread_local uint64_t era = 1;

// Found by the address of the instruction, at its place or soon behind it. None where the thread's
// first one finds no memory for any.
KnownChain* known_chain(const vm::Instruction& insn) {
  constexpr size_t kKept = 8, kTries = 4;
  // Large, and mostly never touched.
  thread_local std::unique_ptr<KnownChain[]> chains;
  if (!chains) chains.reset(new (std::nothrow) KnownChain[kKept]);
  if (!chains) return nullptr;
  const size_t first = reinterpret_cast<uintptr_t>(&insn) / sizeof(uint64_t);
  KnownChain* free = nullptr;
  for (size_t i = 0; i < kTries; ++i) {
    KnownChain& chain = chains[(first + i) % kKept];
    if (chain.insn == &insn && chain.era == era) return &chain;
    if (free == nullptr && (chain.era != era || i + 1 == kTries)) free = &chain;
  }
  free->insn = &insn;
  free->era = era;
  free->width = width_of(insn);
  free->repeats.reset();
  free->may_use_lanes = false;
  return free;
}

// Whether computing an element twice gives the same: nothing that is read is written over.
bool may_repeat(const ChainArgs& args) {
  const vm::Instruction& insn = *args.insn;
  const auto range = [&](int k) {
    const auto begin = reinterpret_cast<uint64_t>(args.operands[k]);
    const int64_t elements = 1 + vm::chain_offset(args, k, args.rows - 1, args.columns - 1);
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

// A multiple of the blocks of every level, behind which nothing is left of a tile; and no more than
// one of any.
constexpr int64_t kWholeBytes = 512, kShortBytes = 128;

// False where the plain kernels have to run it; only what it writes may have changed then.
template <typename T>
bool run_piece(const ChainBodies& bodies, const ChainArgs& args, KnownChain& known,
               const PieceKind& kind) {
  chains::Translator<T>& translator = known.translator<T>(kind.in_lanes);
  if (!translator.prepare(bodies, args, known.era, kind.in_lanes, kind.row_bytes)) return false;
  const auto may_run_twice = [&] {
    return kind.repeats || (kind.row_bytes == nullptr && may_repeat(args));
  };
  ChainRowLoop rows = translator.rows(kind.rows);
  const int64_t bytes = args.size() * static_cast<int64_t>(sizeof(T));
  if (!translator.may_fail()) {
    const bool may_overlap = bytes > kShortBytes && bytes % kWholeBytes != 0;
    rows.overlap = may_overlap && !vm::sums_rows(*args.insn) && may_run_twice();
    bodies.run(translator.program(), bytes, &rows);
    return true;
  }
  const bool repeat = may_run_twice();
  rows.overlap = repeat && !vm::sums_rows(*args.insn);
  // Rare, and new flags make the plain kernels find out which of them are right.
  if (!repeat && !kind.saved) return false;
  constexpr core::fp::State kFlags = core::fp::kInvalidBit | core::fp::kDivideBit |
                                     core::fp::kOverflowBit | core::fp::kUnderflowBit;
  const core::fp::State before = core::fp::get();
  bodies.run(translator.program(), bytes, &rows);
  if ((core::fp::get() & ~before & kFlags) == 0) return true;
  core::fp::set(before);
  return false;
}

template <typename T>
bool run_whole(const ChainBodies& bodies, const ChainArgs& args, KnownChain& known) {
  if (args.insn->m == 1 && !vm::sums_rows(*args.insn)) {
    return run_piece<T>(bodies, args, known, {});
  }
  // What a sum reads is computed a second time where a NaN comes out. What lies over what is the
  // same for all tiles.
  if (vm::sums_rows(*args.insn)) {
    if (!known.repeats) {
      known.repeats = may_repeat(args);
      known.may_use_lanes = has_lanes(bodies, *args.insn);
    }
    if (!*known.repeats) return false;
  }
  const bool repeats = vm::sums_rows(*args.insn) || may_repeat(args);
  return run_chain_rows<T>(bodies, args, known.may_use_lanes, repeats,
                           [&](const ChainArgs& piece, const PieceKind& kind) {
                             return run_piece<T>(bodies, piece, known, kind);
                           });
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
  void run(const ChainBodies& bodies, const vm::KernelTable& kernels, KnownChain& known) {
    const vm::ChainParts parts(args_);
    for (int64_t row = 0; row < args_.rows; ++row) {
      for (int64_t column = 0; column < args_.columns; column += kPiece) {
        const int64_t columns = std::min(kPiece, args_.columns - column);
        const ChainArgs piece = parts.part(row, 1, column, columns);
        const bool kept = keep(piece);
        if (run_piece<T>(bodies, piece, known, {.saved = kept})) continue;
        if (kept) put_back();
        run_plain(piece, kernels);
      }
    }
  }

 private:
  static constexpr int64_t kPiece = 1024;
  static constexpr int kMostKept = 2;

  // False where more is written than there is room for.
  bool keep(const ChainArgs& piece) {
    count_ = 0;
    for (int k = 0; k < piece.insn->aux; ++k) {
      if (!vm::writes(*piece.insn, k)) continue;
      if (count_ == kMostKept) return false;
      const int64_t bytes = piece.size() * core::byte_size(vm::operand_dtype(*piece.insn, k));
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

}  // namespace

void begin_chains() noexcept { ++era; }

bool has_chain_registers() { return chain_bodies(simd_level(), sizeof(float)) != nullptr; }

bool run_chain_in_registers(const ChainArgs& args) noexcept {
  KnownChain* const known = known_chain(*args.insn);
  if (known == nullptr) return false;
  const ChainBodies* bodies = chain_bodies(simd_level(), known->width);
  if (bodies == nullptr) return false;
  return known->width == sizeof(float) ? run_whole<float>(*bodies, args, *known)
                                       : run_whole<double>(*bodies, args, *known);
}

void run_chain(const ChainArgs& args, const vm::KernelTable& kernels) noexcept {
  if (run_chain_in_registers(args)) return;
  KnownChain* const known = known_chain(*args.insn);
  if (known == nullptr) return run_plain(args, kernels);
  const ChainBodies* bodies = chain_bodies(simd_level(), known->width);
  if (bodies == nullptr || vm::sums_rows(*args.insn) || may_repeat(args)) {
    return run_plain(args, kernels);
  }
  if (known->width == sizeof(float)) return OverItself(args).run<float>(*bodies, kernels, *known);
  OverItself(args).run<double>(*bodies, kernels, *known);
}

}  // namespace dvm::cpu
