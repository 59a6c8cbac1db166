// Algorithm 2 of the DVM paper: the loop over tiles and instructions, shared by every target.
//
// A target supplies a Core:
//   static constexpr bool kFlags                       whether its pipes need set/wait flags
//   std::byte* local(Space space, uint32_t offset)     where a slot lies
//   void begin(const Header&), end(const Header&)      before its first, after its last tile
//   void wait(const Instruction&, const Sync&, const Tile&), set(...)   only if kFlags; of a loop
//   the
//                                                      flags around it, and those that it carries
//   void execute(const Instruction&, const TileArgs&, const Tile&)   runs I[insn](args)
//   Fault fault                                        what its kernels found
//   std::byte* scratch()                               memory for those of gathers and products
//   void execute_chain(const ChainArgs&, const Tile&)  runs a chain, say by vm/isa/chain.h
// The Core decides what is checked; the loop itself only decodes, and a few nanoseconds per
// instruction are all it may take.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "vm/isa/chain.h"
#include "vm/isa/program.h"
#include "vm/isa/reduce_source.h"
#include "vm/run/chunks_of_rows.h"
#include "vm/run/tile_kernel.h"
#include "vm/target/launch.h"

namespace dvm::vm {

struct Tile {
  int64_t index;
  Ends ends;  // of the tile, and of the steps of the loops around the instruction
};

// What decoding needs of isa.def, visible to the compiler here so that no call is made for it.
struct InsnLayout {
  uint8_t operands;
  ExtentKind extents;
  bool is_special;  // its kernels get more than others
};
constexpr bool is_special(Format format) {
  return format == Format::gather || format == Format::matrix || is_attention(format);
}
inline constexpr InsnLayout kFormatLayouts[] = {
#define DVM_FORMAT(name, operands, extents, notation) \
  {operands, ExtentKind::extents, is_special(Format::name)},
#include "vm/isa/formats.def"
#undef DVM_FORMAT
};
inline constexpr Format kInsnFormats[] = {
#define DVM_INSN(name, format, pipe, operands, dtypes, result, slope, head, synopsis) \
  Format::format,
#include "vm/isa/isa.def"
#undef DVM_INSN
};
inline constexpr auto kInsnLayouts = [] {
  std::array<InsnLayout, kInsnCount> layouts{};
  for (size_t i = 0; i < layouts.size(); ++i) {
    layouts[i] = kFormatLayouts[static_cast<size_t>(kInsnFormats[i])];
  }
  return layouts;
}();

// The addresses of all streams at the current tile and steps, moved along as those advance: only
// the start of a range divides. Addresses wrap in uint64_t, so that a stray stream is no undefined
// behaviour before the Core has checked it.
class TileCursor {
 public:
  TileCursor(const Program& program, std::span<std::byte* const> globals, int64_t tile)
      : rank_(program.header().grid_rank),
        axes_(rank_ + program.header().loops),
        streams_(program.header().streams) {
    grid_ = program.grid().data();
    for (int d = rank_ - 1; d >= 0; --d) {
      coord_[d] = tile == 0 ? 0 : tile % grid_[d];
      if (tile != 0) tile /= grid_[d];
      settle_end(d);
    }
    if (streams_ == 0) return;
    stream_words_ = reinterpret_cast<const int64_t*>(&program.stream(0));
    const int64_t* stream = stream_words_;
    for (int s = 0; s < streams_; ++s, stream += 2 + axes_) {
      const auto base = reinterpret_cast<uint64_t>(globals[static_cast<size_t>(stream[0])]);
      addresses_[s] = base + static_cast<uint64_t>(stream[1]);
      for (int d = 0; d < rank_; ++d) addresses_[s] += product(coord_[d], stream[2 + d]);
    }
  }

  Ends ends() const { return ends_; }
  // Tiles before this one along the innermost dimension of the grid.
  int64_t innermost() const { return rank_ == 0 ? 0 : coord_[rank_ - 1]; }
  // The current step of a loop; 0 outside of it.
  int64_t step(int loop) const { return steps_[loop]; }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the integer was made from a pointer, see above
  std::byte* address(int stream) const { return reinterpret_cast<std::byte*>(addresses_[stream]); }

  // To the next tile in row-major order: the innermost dimensions that are at their end start over.
  void advance() {
    int d = rank_ - 1;
    for (; coord_[d] == grid_[d] - 1; --d) {
      coord_[d] = 0;
      settle_end(d);
    }
    ++coord_[d];
    settle_end(d);
    const int64_t* strides = stream_words_ + 2;
    for (int s = 0; s < streams_; ++s, strides += 2 + axes_) {
      addresses_[s] += static_cast<uint64_t>(strides[d]);
      for (int k = d + 1; k < rank_; ++k) addresses_[s] -= product(grid_[k] - 1, strides[k]);
    }
  }

  // To a step of a loop.
  void move_to(int loop, int64_t step) {
    const uint64_t by = static_cast<uint64_t>(step - steps_[loop]);
    const int64_t* stride = stream_words_ + 2 + rank_ + loop;
    for (int s = 0; s < streams_; ++s, stride += 2 + axes_) {
      addresses_[s] += by * static_cast<uint64_t>(*stride);
    }
    steps_[loop] = step;
  }

 private:
  static uint64_t product(int64_t a, int64_t b) {
    return static_cast<uint64_t>(a) * static_cast<uint64_t>(b);
  }

  void settle_end(int dim) {
    const auto bit = static_cast<Ends>(1u << (rank_ - 1 - dim));
    ends_ = static_cast<Ends>(coord_[dim] == grid_[dim] - 1 ? ends_ | bit : ends_ & ~bit);
  }

  int rank_, axes_, streams_;
  Ends ends_ = 0;  // of the grid
  const int64_t* grid_;
  const int64_t* stream_words_ = nullptr;
  int64_t coord_[kMaxRank];
  int64_t steps_[kMaxLoops] = {};
  uint64_t addresses_[kMaxStreams];
};

// Puts tail extents in place of others; of the instruction, where axes end.
inline void apply_tails(const Instruction& insn, Ends ends, ExtentKind kind, ViewDim* dims,
                        TileArgs& args) {
  const bool view = kind == ExtentKind::view;
  const Extents now = view ? extents(insn, ends) : plain_extents(insn, ends);
  args.m = now.m;
  args.size = now.size;
  args.n = now.n;
  if (!view) return;
  std::memcpy(dims, args.dims, sizeof(ViewDim) * insn.aux);
  for (int d = 0; d < insn.aux; ++d) {
    dims[d].extent = tail_of(insn, d + 1, ends, static_cast<uint32_t>(dims[d].extent));
  }
  args.dims = dims;
}

// Whether the instruction has other extents where these axes end.
inline bool has_tails(const Instruction& insn, Ends ends) {
  return ends != 0 && ((insn.split != 0 && (ends & 1) != 0) || insn.tails != 0);
}

// Calls f() between the waits and the sets of an instruction.
template <typename Core, typename Execute>
inline void between_flags(const Instruction& insn, const Tile& tile, Core& core, Execute execute) {
  if constexpr (Core::kFlags) {
    for (const Sync& sync : insn.sync_list()) {
      if (sync.kind() == SyncKind::wait) core.wait(insn, sync, tile);
      if (sync.kind() == SyncKind::carry) core.set(insn, sync, tile);
    }
  }
  execute();
  if constexpr (Core::kFlags) {
    for (const Sync& sync : insn.sync_list()) {
      if (sync.kind() == SyncKind::set) core.set(insn, sync, tile);
      if (sync.kind() == SyncKind::carry) core.wait(insn, sync, tile);
    }
  }
}

template <typename Core>
inline std::byte* locate(const Operand& operand, const TileCursor& cursor, Core& core) {
  return operand.mode == Mode::slot ? core.local(space_of(operand), operand.offset)
                                    : cursor.address(operand.index);
}

template <typename Core>
[[gnu::noinline]] void run_chain_instruction(const Instruction& insn, const TileCursor& cursor,
                                             const Scalar* scalars, const Tile& tile, Core& core) {
  ChainArgs args;
  args.insn = &insn;
  args.rows = insn.m;
  args.columns = insn.size;
  if (has_tails(insn, tile.ends)) {
    const Extents now = plain_extents(insn, tile.ends);
    args.rows = now.m;
    args.columns = now.size;
  }
  for (int k = 0; k < insn.aux; ++k) {
    const Operand& operand = insn.operands()[k];
    if (operand.mode == Mode::scalar) {
      // Never written: verify() sees to that.
      args.operands[k] = reinterpret_cast<std::byte*>(const_cast<Scalar*>(scalars)) +
                         operand.index * sizeof(Scalar);
    } else {
      args.operands[k] = locate(operand, cursor, core);
    }
  }
  between_flags(insn, tile, core, [&] { core.execute_chain(args, tile); });
}

// Where the tile is among the rows of q and of k.
inline void place_attention(const Instruction& insn, std::optional<int> loop,
                            const TileCursor& cursor, const Tile& tile, TileArgs& args) {
  args.attention = &insn.attention();
  args.carries = loop.has_value();
  args.ends = !loop || (tile.ends >> (kFirstLoopAxis + *loop) & 1) != 0;
  args.last = core::kSeesAll;
  if (args.attention->causal == 0) return;
  args.last = args.attention->last + cursor.innermost() * insn.m -
              (loop ? cursor.step(*loop) * insn.size : 0);
}

template <typename Core>
[[gnu::noinline]] void run_chunks_of_rows(const Instruction& insn, const TileArgs& args,
                                          const Tile& tile, Core& core) {
  const int64_t bytes = core::byte_size(operand_dtype(insn, 1));
  between_flags(insn, tile, core, [&] {
    reduce_chunks_of_rows(args, bytes, core::byte_size(insn.dtype),
                          [&](const TileArgs& part) { core.execute(insn, part, tile); });
  });
}

// Each row as a reduction of its own.
template <typename Core>
[[gnu::noinline]] void run_rows_apart(const Instruction& insn, const TileArgs& args,
                                      const Tile& tile, Core& core) {
  const int64_t result_bytes = core::byte_size(insn.dtype);
  between_flags(insn, tile, core, [&] {
    TileArgs row = args;
    row.m = 1;
    row.row_stride = std::nullopt;
    for (int64_t i = 0; i < args.m; ++i) {
      core.execute(insn, row, tile);
      row.src[0] += *args.row_stride;
      row.dst += result_bytes;
    }
  });
}

// Inlined into the loop over instructions: the call would be a tenth of a short one.
template <typename Core>
[[gnu::always_inline]] inline void run_instruction(const Instruction& insn,
                                                   const TileCursor& cursor, const Scalar* scalars,
                                                   const Tile& tile, Core& core) {
  if (insn.is_chain()) return run_chain_instruction(insn, cursor, scalars, tile, core);
  const InsnLayout layout = kInsnLayouts[static_cast<size_t>(insn.insn)];
  const Operand* operands = insn.operands();
  TileArgs args;
  args.m = insn.m;
  args.size = insn.size;
  args.n = insn.n;
  args.scalar_mask = 0;
  args.aux = insn.aux;
  args.dims = nullptr;
  args.row_stride = std::nullopt;
  args.dst = locate(operands[0], cursor, core);
  for (int k = 1; k < layout.operands; ++k) {
    const Operand src = operands[k];
    if (src.mode != Mode::scalar) {
      args.src[k - 1] = locate(src, cursor, core);
    } else {
      args.src[k - 1] = reinterpret_cast<const std::byte*>(scalars + src.index);
      args.scalar_mask = static_cast<uint8_t>(args.scalar_mask | 1u << (k - 1));
    }
  }
  ViewDim dims[kMaxRank];
  if (layout.extents == ExtentKind::view) {
    args.dims = reinterpret_cast<const ViewDim*>(operands + layout.operands);
  } else if (layout.extents == ExtentKind::triple) {
    args.row_stride = row_stride(operands[1]);
  }
  if (has_tails(insn, tile.ends)) apply_tails(insn, tile.ends, layout.extents, dims, args);
  if (args.m != 1 && layout.extents == ExtentKind::linear) [[unlikely]] {
    args.size *= args.m;
    args.m = 1;
  }
  if (layout.is_special) [[unlikely]] {
    args.fault = &core.fault;
    args.insn = &insn;
    args.scratch = core.scratch();
    const MatrixAux aux = MatrixAux::of(insn.dtype, insn.aux);
    const bool attends = is_attention(kInsnFormats[static_cast<size_t>(insn.insn)]);
    args.adds = (insn.insn == Insn::matmul || attends) &&
                (aux.always || (aux.loop && cursor.step(*aux.loop) != 0));
    args.first_column = cursor.innermost() * insn.n;
    if (attends) place_attention(insn, aux.loop, cursor, tile, args);
  }
  if (args.row_stride && reduces_rows_in_lanes(insn)) [[unlikely]] {
    return reduces_chunks(insn) ? run_chunks_of_rows(insn, args, tile, core)
                                : run_rows_apart(insn, args, tile, core);
  }
  between_flags(insn, tile, core, [&] { core.execute(insn, args, tile); });
}

// The instructions of a tile, or of a step of a loop. Most Programs have no loops, and most tiles
// few instructions: without loops they cost no look for one.
template <bool kLoops, typename Core>
void run_code(const Program& program, std::span<const uint64_t> code, const Scalar* scalars,
              TileCursor& cursor, const Tile& tile, Core& core);

template <typename Core>
[[gnu::noinline]] void run_loop(const Program& program, const Instruction& loop,
                                std::span<const uint64_t> body, const Scalar* scalars,
                                TileCursor& cursor, const Tile& tile, Core& core) {
  const int64_t steps = program.loops()[loop.aux];
  const auto last = static_cast<Ends>(1u << (kFirstLoopAxis + loop.aux));
  between_flags(loop, tile, core, [&] {
    for (int64_t step = 0; step < steps; ++step) {
      cursor.move_to(loop.aux, step);
      const auto ends = static_cast<Ends>(step == steps - 1 ? tile.ends | last : tile.ends);
      run_code<true>(program, body, scalars, cursor, {tile.index, ends}, core);
    }
    cursor.move_to(loop.aux, 0);
  });
}

template <bool kLoops, typename Core>
inline void run_code(const Program& program, std::span<const uint64_t> code, const Scalar* scalars,
                     TileCursor& cursor, const Tile& tile, Core& core) {
  for (const uint64_t *p = code.data(), *stop = p + code.size(); p != stop;) {
    const auto& insn = *reinterpret_cast<const Instruction*>(p);
    p += insn.words;
    if (kLoops && insn.is_loop()) {
      run_loop(program, insn, {p, insn.body_words()}, scalars, cursor, tile, core);
      p += insn.body_words();
      continue;
    }
    run_instruction(insn, cursor, scalars, tile, core);
  }
}

// Runs tiles [begin, end) of a verified Program; globals[k] is the base of global operand k.
template <typename Core>
void run_tiles(const Program& program, std::span<std::byte* const> globals, int64_t begin,
               int64_t end, Core& core) {
  const Header& header = program.header();
  const std::span<const uint64_t> code = program.code();
  const Scalar* const scalars = program.scalars().data();
  const bool loops = header.loops != 0;
  TileCursor cursor(program, globals, begin);
  core.begin(header);
  for (int64_t index = begin; index < end; ++index) {
    if (index != begin) cursor.advance();
    const Tile tile{index, cursor.ends()};
    if (loops) [[unlikely]] {
      run_code<true>(program, code, scalars, cursor, tile, core);
    } else {
      run_code<false>(program, code, scalars, cursor, tile, core);
    }
  }
  core.end(header);
}

// The same of a leader, for each of whose tiles its makers go ahead and its followers come at once;
// `places` are Launch::place_bytes() for what these leave to each other.
template <typename Core>
void run_followed_tiles(const Launch& launch, std::byte* places, int64_t begin, int64_t end,
                        Core& core) {
  std::byte* globals[kMaxProgramGlobals];
  std::ranges::copy(launch.globals, globals);
  if (launch.handed.global >= 0) globals[launch.handed.global] = places;
  if (launch.made.global >= 0) globals[launch.made.global] = places + launch.place_of_made();
  const std::span<std::byte* const> all(globals, launch.globals.size());
  for (int64_t tile = begin; tile < end; ++tile) {
    const auto run_those = [&](bool make) {
      for (const Follower& follower : launch.followers) {
        if (follower.makes != make) continue;
        const Follower::Range range = follower.behind(launch.program, tile);
        if (range.begin != range.end) {
          run_tiles(follower.program, all, range.begin, range.end, core);
        }
      }
    };
    run_those(true);
    run_tiles(launch.program, all, tile, tile + 1, core);
    run_those(false);
  }
}

}  // namespace dvm::vm
