#include "vm/isa/program_builder.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/error.h"

namespace dvm::vm {

namespace {

constexpr size_t kWord = sizeof(uint64_t);

[[noreturn]] void too_large(const char* what, int64_t limit) {
  core::fail(core::ErrorCode::unsupported,
             std::string("Program exceeds the limit of ") + std::to_string(limit) + " " + what);
}

}  // namespace

ProgramBuilder::ProgramBuilder(const TargetTraits& target, std::span<uint64_t> words,
                               std::span<const int64_t> grid, std::span<const int64_t> loops)
    : target_(target),
      words_(words),
      grid_rank_(static_cast<int>(grid.size())),
      axes_(static_cast<int>(grid.size() + loops.size())) {
  if (grid.size() > kMaxRank) too_large("grid dimensions", kMaxRank);
  if (loops.size() > kMaxLoops) too_large("loops", kMaxLoops);
  for (int64_t tiles : grid) {
    if (tiles < 1 || __builtin_mul_overflow(tile_count_, tiles, &tile_count_) ||
        tile_count_ > kMaxTiles) {
      too_large("tiles", kMaxTiles);
    }
  }
  take(sizeof(Header) / kWord);
  if (!grid.empty()) std::memcpy(take(grid.size()), grid.data(), grid.size_bytes());
  if (!loops.empty()) std::memcpy(take(loops.size()), loops.data(), loops.size_bytes());
  code_begin_ = used_;
}

uint64_t* ProgramBuilder::take(size_t words) {
  if (words > words_.size() - used_) throw OutOfWords(words_.size());
  uint64_t* begin = words_.data() + used_;
  used_ += words;
  return begin;
}

int ProgramBuilder::add_global(const Global& global) {
  DVM_CHECK(code_begin_ == used_, "globals come before the first instruction");
  if (globals_ == kMaxProgramGlobals) too_large("globals", kMaxProgramGlobals);
  std::memcpy(take(sizeof(Global) / kWord), &global, sizeof(Global));
  code_begin_ = used_;
  return globals_++;
}

Operand ProgramBuilder::scalar(DType dtype, Scalar value) {
  return scalar_bits(scalar_pool_bits(dtype, value));
}

Operand ProgramBuilder::scalar_bits(uint64_t bits) {
  int index = 0;
  while (index < scalars_ && scalar_table_[index] != bits) ++index;
  if (index == scalars_) {
    if (scalars_ == kMaxScalars) too_large("scalars", kMaxScalars);
    scalar_table_[scalars_++] = bits;
  }
  return {Mode::scalar, 0, static_cast<uint16_t>(index), 0};
}

Operand ProgramBuilder::stream(int global, int64_t offset, std::span<const int64_t> strides) {
  DVM_CHECK(static_cast<int>(strides.size()) == axes_, "one stride per grid dimension and loop");
  const ptrdiff_t width = 2 + axes_;
  int index = 0;
  for (; index < streams_; ++index) {
    const int64_t* entry = stream_table_ + index * width;
    if (entry[0] == global && entry[1] == offset &&
        std::equal(strides.begin(), strides.end(), entry + 2)) {
      break;
    }
  }
  if (index == streams_) {
    if (streams_ == kMaxStreams) too_large("streams", kMaxStreams);
    int64_t* entry = stream_table_ + streams_++ * width;
    entry[0] = global;
    entry[1] = offset;
    std::copy(strides.begin(), strides.end(), entry + 2);
  }
  return {Mode::stream, 0, static_cast<uint16_t>(index), 0};
}

const Instruction& ProgramBuilder::append(Instruction fixed, std::span<const Operand> operands,
                                          std::span<const Sync> syncs,
                                          std::span<const ViewDim> view_dims,
                                          std::span<const Tail> tails) {
  if (!view_dims.empty()) fixed.aux = static_cast<uint8_t>(view_dims.size());
  return append_words(fixed, operands, std::as_bytes(view_dims), tails, syncs);
}

const Instruction& ProgramBuilder::append_attention(Instruction fixed,
                                                    std::span<const Operand> operands,
                                                    const AttentionWords& words,
                                                    std::span<const Sync> syncs,
                                                    std::span<const Tail> tails) {
  return append_words(fixed, operands, std::as_bytes(std::span(&words, 1)), tails, syncs);
}

const Instruction& ProgramBuilder::append_product(Instruction fixed,
                                                  std::span<const Operand> operands,
                                                  const WindowWords& words,
                                                  std::span<const Sync> syncs,
                                                  std::span<const Tail> tails) {
  return append_words(fixed, operands, std::as_bytes(std::span(&words, 1)), tails, syncs);
}

const Instruction& ProgramBuilder::append_chain(Instruction fixed,
                                                std::span<const Operand> operands,
                                                std::span<const MicroOp> steps,
                                                std::span<const Sync> syncs,
                                                std::span<const Tail> tails) {
  fixed.aux = static_cast<uint8_t>(operands.size());
  fixed.steps = static_cast<uint8_t>(steps.size());
  return append_words(fixed, operands, std::as_bytes(steps), tails, syncs);
}

void ProgramBuilder::begin_loop(std::span<const Sync> syncs) {
  DVM_CHECK(begun_loops_ < axes_ - grid_rank_, "more loops than were announced");
  const size_t begin = used_;
  append_words({.insn = Insn::loop, .dtype = DType{}, .aux = static_cast<uint8_t>(begun_loops_)},
               {}, {}, {}, syncs);
  ++begun_loops_;
  loop_begin_[open_loops_++] = begin;
}

void ProgramBuilder::end_loop() {
  DVM_CHECK(open_loops_ > 0, "there is no loop to end");
  const size_t begin = loop_begin_[--open_loops_];
  auto& loop = *reinterpret_cast<Instruction*>(words_.data() + begin);
  loop.size = static_cast<uint32_t>(used_ - begin - loop.words);
}

const Instruction& ProgramBuilder::append_words(Instruction fixed,
                                                std::span<const Operand> operands,
                                                std::span<const std::byte> extra,
                                                std::span<const Tail> tails,
                                                std::span<const Sync> syncs) {
  const size_t bytes = sizeof(fixed) + operands.size_bytes() + extra.size_bytes() +
                       tails.size_bytes() + syncs.size_bytes();
  constexpr size_t kLongest = std::numeric_limits<uint8_t>::max();
  if (bytes / kWord > kLongest) too_large("words in one instruction", kLongest);
  pipes_ |= bit(info(fixed.insn).pipe);
  fixed.words = static_cast<uint8_t>(bytes / kWord);
  fixed.syncs = static_cast<uint8_t>(syncs.size());
  fixed.tails = static_cast<uint8_t>(tails.size());
  uint64_t* const begin = take(bytes / kWord);
  uint64_t* out = begin;
  auto put = [&out](const void* data, size_t size) {
    if (size != 0) std::memcpy(out, data, size);
    out += size / kWord;
  };
  put(&fixed, sizeof(fixed));
  put(operands.data(), operands.size_bytes());
  put(extra.data(), extra.size_bytes());
  put(tails.data(), tails.size_bytes());
  put(syncs.data(), syncs.size_bytes());
  return *reinterpret_cast<const Instruction*>(begin);
}

Program ProgramBuilder::finish(uint32_t local_bytes, uint8_t loop_flags) {
  DVM_CHECK(open_loops_ == 0 && begun_loops_ == axes_ - grid_rank_, "a loop has no end");
  const size_t code_words = used_ - code_begin_;
  const auto scalars = static_cast<size_t>(scalars_);
  const size_t streams = static_cast<size_t>(streams_) * static_cast<size_t>(2 + axes_);
  take(scalars + streams);
  uint64_t* tables = words_.data() + code_begin_;
  std::memmove(tables + scalars + streams, tables, code_words * kWord);
  std::memcpy(tables, scalar_table_, scalars * kWord);
  std::memcpy(tables + scalars, stream_table_, streams * kWord);

  const KernelType type = kernel_type(pipes_);
  const TileShares tiles = share_tiles(tile_count_, target_.blocks(type));
  const Header header = {
      .magic = kMagic,
      .version = kVersion,
      .target = target_.id,
      .kernel_type = type,
      .words = static_cast<uint32_t>(used_),
      .code_words = static_cast<uint32_t>(code_words),
      .tile_count = static_cast<uint32_t>(tile_count_),
      .block_dim = tiles.block_dim,
      .body_tile = tiles.body_tile,
      .tail_tile_diff = tiles.tail_tile_diff,
      .local_bytes = local_bytes,
      .globals = static_cast<uint16_t>(globals_),
      .streams = static_cast<uint16_t>(streams_),
      .scalars = static_cast<uint16_t>(scalars_),
      .grid_rank = static_cast<uint8_t>(grid_rank_),
      .loop_flags = loop_flags,
      .loops = static_cast<uint8_t>(axes_ - grid_rank_),
      .zero = {},
  };
  std::memcpy(words_.data(), &header, sizeof(header));
  return Program(words_.first(used_));
}

uint64_t scalar_pool_bits(DType dtype, Scalar value) {
  return core::dispatch(dtype, [&]<DType D>() {
    const core::Storage<D> element = core::element_of<D>(value);
    uint64_t bits = 0;
    std::memcpy(&bits, &element, sizeof(element));
    return bits;
  });
}

}  // namespace dvm::vm
