// Instructions by themselves, and the flags between them.
#include "vm/verify/tile.h"

#include <algorithm>
#include <bit>

#include "core/error.h"
#include "vm/isa/reduce_source.h"

namespace dvm::vm {

TileVerifier::TileVerifier(const Program& program, const TargetTraits& target)
    : program_(program), target_(target), written_streams_(program.header().streams) {
  for (const LoopFlagInfo& row : kLoopFlags) {
    if (program.header().loop_flags & row.flag) {
      tokens_of({.src = row.src, .dst = row.dst}) = 1;
    }
  }
}

void TileVerifier::fail(const std::string& message) const {
  core::fail(core::ErrorCode::bytecode_invalid,
             "instruction " + number(index_) + insn_name_ + ": " + message);
}

namespace {

// Of an instruction whose operands may not all be there.
bool has_windows(const Instruction& insn, std::span<const uint64_t> rest) {
  constexpr size_t kLeast = sizeof(Instruction) / 8 + 3;
  return rest.size() >= kLeast && insn.has_windows();
}

}  // namespace

size_t TileVerifier::step(std::span<const uint64_t> rest) {
  ++index_;
  insn_name_.clear();
  constexpr size_t kFixedWords = sizeof(Instruction) / 8;
  if (rest.size() < kFixedWords) {
    fail("only " + number(rest.size()) + " words are left of the code");
  }
  const auto& insn = *reinterpret_cast<const Instruction*>(rest.data());
  if (static_cast<int>(insn.insn) >= kInsnCount) {
    fail("unknown opcode " + number(static_cast<int>(insn.insn)));
  }
  const InsnInfo& row = info(insn.insn);
  insn_name_ = " (" + std::string(row.name) + ")";
  const size_t length = kFixedWords + static_cast<size_t>(insn.operand_count()) +
                        (insn.is_view() ? 2 * size_t{insn.aux} : 0) +
                        (insn.is_attention() ? sizeof(AttentionWords) / 8 : 0) +
                        (has_windows(insn, rest) ? sizeof(WindowWords) / 8 : 0) + insn.steps +
                        insn.tails + insn.syncs;
  pipes_ |= bit(row.pipe);
  if (insn.words != length || length > rest.size()) {
    fail("length is " + number(insn.words) + " words, its parts take " + number(length) +
         ", the code has " + number(rest.size()));
  }
  check_fixed_part(insn);
  if (insn.is_loop()) {
    open_loop(insn, length, rest.size());
    return length;
  }
  check_extents(insn);
  check_tails(insn);
  if (insn.has_windows()) check_windows(insn);
  const int operands = insn.operand_count();
  for (int k = 0; k < operands; ++k) check_operand(insn, k);
  for (int k = 0; k < operands; ++k) {
    if (writes(insn, k)) check_overlap(insn, k);
  }
  check_sources_written(insn);
  if (insn.is_chain()) check_chain(insn);
  for (int k = 0; k < operands; ++k) {
    if (writes(insn, k)) record_destination(insn, k);
  }
  check_syncs(insn);
  position_ += length;
  close_loops();
  return length;
}

// The body's instructions follow; its flags are checked where it ends.
void TileVerifier::open_loop(const Instruction& insn, size_t length, size_t rest) {
  if (insn.aux != next_loop_) {
    fail("begins loop " + number(insn.aux) + ", but the next one is " + number(next_loop_));
  }
  if (insn.aux >= program_.header().loops) {
    fail("loop " + number(insn.aux) + " of " + number(program_.header().loops));
  }
  ++next_loop_;
  if (insn.m != 1 || insn.n != 1 || insn.split != 0 || insn.tail != 0 || insn.tails != 0) {
    fail("a loop has no extents and no tails");
  }
  position_ += length;
  const size_t end = position_ + insn.body_words();
  const size_t limit = open_.empty() ? position_ + rest - length : open_.back().end;
  if (insn.body_words() == 0 || end > limit) {
    fail("a body of " + number(insn.body_words()) + " words, where " + number(limit - position_) +
         " are left");
  }
  SyncKind last = SyncKind::wait;
  for (const Sync& sync : insn.sync_list()) {
    check_flag(sync);
    if (sync.kind() < last) fail("waits come first, then sets, then what a loop carries");
    last = sync.kind();
    if (sync.kind() == SyncKind::wait) take_token(sync);
    if (sync.kind() != SyncKind::carry) continue;
    int64_t& count = tokens_of(sync);
    if (count != 0) {
      fail("carries " + name(sync.src, sync.dst, sync.event) + ", which is set already");
    }
    count = 1;
  }
  open_.push_back({insn.aux, end, tokens_, insn.sync_list()});
}

// What a step leaves has to be what it found.
void TileVerifier::close_loops() {
  for (; !open_.empty() && position_ >= open_.back().end; open_.pop_back()) {
    const OpenLoop& loop = open_.back();
    const std::string which = "loop " + number(loop.loop);
    if (position_ > loop.end) fail("reaches beyond the end of " + which);
    for (int src = 0; src < kPipeCount; ++src) {
      for (int dst = 0; dst < kPipeCount; ++dst) {
        for (int event = 0; event < kEventIds; ++event) {
          const auto s = static_cast<size_t>(src), d = static_cast<size_t>(dst);
          const auto e = static_cast<size_t>(event);
          if (tokens_[s][d][e] == loop.tokens[s][d][e]) continue;
          fail("ends " + which + ", a step of which sets " +
               name(static_cast<Pipe>(src), static_cast<Pipe>(dst), event) + " " +
               number(tokens_[s][d][e] - loop.tokens[s][d][e]) + " times more than it waits");
        }
      }
    }
    for (const Sync& sync : loop.syncs) {
      if (sync.kind() == SyncKind::carry) --tokens_of(sync);
      if (sync.kind() == SyncKind::set) ++tokens_of(sync);
    }
  }
}

bool TileVerifier::is_open(int loop) const {
  return std::ranges::any_of(open_, [&](const OpenLoop& open) { return open.loop == loop; });
}

void TileVerifier::check_fixed_part(const Instruction& insn) const {
  const InsnInfo& row = info(insn.insn);
  if (static_cast<int>(insn.dtype) >= core::kDTypeCount) {
    fail("unknown dtype " + number(static_cast<int>(insn.dtype)));
  }
  if (!contains(row.dtypes, insn.dtype)) {
    fail("dtype " + std::string(core::to_string(insn.dtype)) + " is not one of " +
         std::string(core::to_string(row.dtypes)));
  }
  if (insn.is_chain() != (insn.steps != 0)) fail("has " + number(insn.steps) + " micro-ops");
  if (!has_kernel(insn.insn) && insn.dtype != DType{}) {
    fail("a " + std::string(row.name) + " has no dtype of its own");
  }
  int aux_end = 1, aux_begin = 0;
  if (insn.is_chain()) aux_begin = 1, aux_end = kMaxChainOperands + 1;
  if (row.format == Format::cast) aux_end = core::kDTypeCount;
  if (row.format == Format::compare) aux_end = kCompareCount;
  if (row.format == Format::reduce) aux_end = 2 * (core::kDTypeCount + 1);
  if (insn.is_view()) aux_begin = 1, aux_end = kMaxRank + 1;
  if (insn.is_loop()) aux_end = kMaxLoops;
  const bool multiplies = row.format == Format::matrix || is_attention(row.format);
  if (multiplies) aux_end = 8 * (core::kDTypeCount + 1);
  const int aux = multiplies ? insn.aux & ~MatrixAux::kRounds : insn.aux;
  if (aux < aux_begin || aux >= aux_end) {
    fail("aux is " + number(aux) + ", outside [" + number(aux_begin) + ", " + number(aux_end) +
         ")");
  }
  if (row.format == Format::reduce && insn.aux >= 2 &&
      !(target_.streams &&
        reads(insn.insn, insn.dtype, reduce_order(insn.aux), operand_dtype(insn, 1)))) {
    fail("a reduction to " + std::string(core::to_string(insn.dtype)) + " reads no " +
         std::string(core::to_string(operand_dtype(insn, 1))) + " on target " +
         std::string(target_.name));
  }
  if (multiplies) check_matrix(insn);
  if (is_attention(row.format)) check_attention(insn);
}

void TileVerifier::check_matrix(const Instruction& insn) const {
  const MatrixAux aux = MatrixAux::of(insn.dtype, insn.aux);
  if (aux.loop && !is_open(*aux.loop)) {
    fail("adds in the steps of loop " + number(*aux.loop) + ", which it is not in");
  }
  if (aux.always && insn.operands()[0].mode != Mode::slot) {
    fail("adds to what is in no slot");
  }
  if (aux.precision != core::Precision::highest &&
      (insn.dtype != DType::f32 || aux.source != DType::f32)) {
    fail("rounds factors that are no f32");
  }
  if (!core::adds_products(insn.dtype, aux.source) || insn.aux != aux.code(insn.dtype)) {
    fail("makes no " + std::string(core::to_string(insn.dtype)) + " of products of " +
         std::string(core::to_string(aux.source)));
  }
}

// That no sum of strides overflows, and that there are whole windows.
void TileVerifier::check_windows(const Instruction& insn) const {
  constexpr int64_t kMost = kMaxTileElements;
  const WindowWords& words = insn.windows();
  const auto check = [&](int64_t number, int64_t least) {
    if (number < least || number > kMost)
      fail("windows have a " + std::to_string(number) + " outside [" + std::to_string(least) +
           ", " + std::to_string(kMost) + "]");
  };
  const auto check_stride = [&](int64_t stride, int64_t extent) {
    const int64_t most = kMaxViewBytes / extent;
    if (stride < -most || stride > most)
      fail("windows step by " + number(stride) + " bytes, which exceeds " + number(kMaxViewBytes));
  };
  int64_t elements = 1;
  for (const WindowAxis& axis : words.axes) {
    for (const int64_t extent : {axis.positions, axis.window, axis.size, axis.step, axis.dilation})
      check(extent, 1);
    check(axis.before, 0);
    check_stride(axis.stride, axis.size);
    if (elements > kMost / axis.window) fail("windows of too many elements");
    elements *= axis.window;
  }
  if (insn.size % elements != 0)
    fail(number(insn.size) + " rows are not whole windows of " + number(elements) + " elements");
  check_stride(words.channel_stride, insn.size / elements);
}

void TileVerifier::check_attention(const Instruction& insn) const {
  const AttentionWords& words = insn.attention();
  const Operand& d = insn.operands()[0];
  if (words.depth == 0 || words.depth > kMaxTileElements) {
    fail("depth " + number(words.depth) + " is outside [1, " + number(kMaxTileElements) + "]");
  }
  if (words.causal > 1) fail("causal is " + number(words.causal) + ", neither 0 nor 1");
  if (words.causal == 0 && words.last != 0) fail("has a last row that is seen, but is not causal");
  if (words.last < -kMaxViewBytes || words.last > kMaxViewBytes)
    fail("the last row that is seen is " + number(words.last));
  if (words.causal == 1 && program_.header().grid_rank == 0)
    fail("a causal attention needs a grid dimension");
  if (insn.insn != Insn::attend_masked && std::bit_cast<uint64_t>(words.fill) != 0)
    fail("fills scores without a mask of bools");
  const MatrixAux aux = MatrixAux::of(insn.dtype, insn.aux);
  if (aux.precision != core::Precision::highest) fail("an attention rounds no factors");
  if (aux.always) fail("an attention goes on from nothing but a step of its loop");
  if (aux.loop && d.mode != Mode::slot) fail("its steps leave for each other what is in no slot");
}

void TileVerifier::check_extents(const Instruction& insn) const {
  const ExtentKind kind = info(info(insn.insn).format).extents;
  const Format format = info(insn.insn).format;
  const bool multiplies = format == Format::matrix || is_attention(format);
  const bool has_rows =
      kind == ExtentKind::triple || (kind == ExtentKind::linear && !is_transfer(format));
  if (format == Format::gather) {
    if (insn.m < 1 || insn.m > insn.aux || insn.n < 1) {
      fail("indexes dim " + number(int64_t{insn.m} - 1) + " with " + number(insn.n) + " indices");
    }
  } else if ((insn.m != 1 && !has_rows) || (insn.n != 1 && kind != ExtentKind::triple)) {
    fail("m and n are " + number(insn.m) + " and " + number(insn.n) + ", not 1");
  }
  // Dense elements are rows only where one of the two extents is cut.
  if (kind == ExtentKind::linear && !insn.is_chain() && insn.m != 1 && insn.tails == 0 &&
      insn.split == 0) {
    fail("m is " + number(insn.m) + ", but there is no tail");
  }
  int64_t elements = 1;
  auto multiply = [&](int64_t extent) {
    if (extent < 1 || extent > kMaxTileElements) {
      fail("extent " + number(extent) + " is outside [1, " + number(kMaxTileElements) + "]");
    }
    elements *= extent;
    if (elements > kMaxTileElements) fail("more than " + number(kMaxTileElements) + " elements");
  };
  if (kind == ExtentKind::view) {
    int d = 0;
    for (const ViewDim& dim : insn.view_dims()) {
      multiply(dim.extent);
      // Beyond any real memory, and small enough that stepping past a row cannot overflow.
      const int64_t limit = kMaxViewBytes / positions_along(insn, d++, dim.extent);
      if (dim.stride < -limit || dim.stride > limit) {
        fail("view dim of " + number(dim.extent) + " steps of " + number(dim.stride) +
             " bytes exceeds " + number(kMaxViewBytes));
      }
    }
    if (elements != insn.size) {
      fail("view has " + number(elements) + " elements, size is " + number(insn.size));
    }
    return;
  }
  for (int64_t extent : {insn.m, insn.size, insn.n}) {
    multiply(extent);
    if (multiplies) elements = extent;  // no operand has all three
  }
  if (!multiplies) return;
  for (int operand = 0; operand < insn.operand_count(); ++operand) {
    const MatrixSize size = matrix_size(insn, operand, {insn.m, insn.size, insn.n});
    elements = size.rows;
    multiply(size.columns + (operand == 0 && is_attention(format) ? 2 : 0));
  }
}

void TileVerifier::check_tails(const Instruction& insn) const {
  if (insn.split == 0) {
    if (insn.tail != 0) fail("tail is " + number(insn.tail) + " without a split extent");
  } else {
    if (program_.header().grid_rank == 0) fail("a split extent needs a grid dimension");
    check_tail(insn, {.extent = insn.split, .value = insn.tail});
  }
  if (insn.tails > kMaxMoreTails) {
    fail(number(insn.tails) + " more tails exceed the limit of " + number(kMaxMoreTails));
  }
  int last = 0;
  for (const Tail& tail : insn.more_tails()) {
    const bool of_loop = tail.axis >= kFirstLoopAxis;
    if (tail.axis == 0 || tail.axis >= kAxisCount || steps_along(tail.axis) == 0 ||
        (of_loop && !is_open(tail.axis - kFirstLoopAxis)) || tail.zero != 0) {
      fail("a tail along axis " + number(tail.axis) + ", which means nothing here");
    }
    if (tail.extent <= last || tail.extent == insn.split) {
      fail("tails are not in the order of extents, one for each");
    }
    last = tail.extent;
    check_tail(insn, tail);
  }
}

void TileVerifier::check_tail(const Instruction& insn, const Tail& tail) const {
  int64_t extent = 0;
  switch (info(info(insn.insn).format).extents) {
    case ExtentKind::linear:
      if (tail.extent == static_cast<int>(Split::size)) extent = insn.size;
      if (tail.extent == static_cast<int>(Split::m) && insn.m > 1) extent = insn.m;
      break;
    case ExtentKind::triple:
      if (tail.extent <= static_cast<int>(Split::n)) {
        const int64_t triple[] = {insn.m, insn.size, insn.n};
        extent = triple[tail.extent - 1];
      }
      break;
    case ExtentKind::view:
      if (tail.extent <= insn.aux) extent = insn.view_dims()[tail.extent - 1u].extent;
      break;
    case ExtentKind::none:
      break;
  }
  if (extent == 0) fail("split " + number(tail.extent) + " names no extent of this format");
  if (tail.value < 1 || tail.value > extent) {
    fail("tail " + number(tail.value) + " is outside [1, " + number(extent) + "]");
  }
}

std::string TileVerifier::name(Pipe src, Pipe dst, int event) {
  return std::string(to_string(src)) + "_" + std::string(to_string(dst)) + " flag " + number(event);
}

void TileVerifier::check_flag(const Sync& sync) const {
  if (!target_.flags) fail("target " + std::string(target_.name) + " has no flags");
  if (sync.set > static_cast<int>(SyncKind::carry) || sync.zero != 0 ||
      static_cast<int>(sync.src) >= kPipeCount || static_cast<int>(sync.dst) >= kPipeCount ||
      !has_flags(sync.src, sync.dst)) {
    fail("a flag has bits set that mean nothing");
  }
  if (sync.event >= kEventIds) {
    fail("event " + number(sync.event) + " exceeds " + number(kEventIds - 1));
  }
}

void TileVerifier::take_token(const Sync& sync) {
  if (--tokens_of(sync) < 0) {
    fail("waits for " + name(sync.src, sync.dst, sync.event) + ", which nothing has set");
  }
}

void TileVerifier::check_syncs(const Instruction& insn) {
  bool sets_begun = false;
  for (const Sync& sync : insn.sync_list()) {
    check_flag(sync);
    const std::string flag = name(sync.src, sync.dst, sync.event);
    if (sync.kind() == SyncKind::carry) fail("carries " + flag + ", as only loops do");
    const bool sets = sync.kind() == SyncKind::set;
    const Pipe pipe = info(insn.insn).pipe;
    if (pipe != (sets ? sync.src : sync.dst)) {
      fail(std::string(to_string(pipe)) + " pipe cannot " + (sets ? "set " : "wait for ") + flag);
    }
    if (sets_begun && !sets) fail("waits for " + flag + " after a set");
    sets_begun = sets;
    if (sets) {
      ++tokens_of(sync);
    } else {
      take_token(sync);
    }
  }
}

void TileVerifier::finish() const {
  const KernelType type = kernel_type(pipes_), given = program_.header().kernel_type;
  if (type != given) {
    core::fail(core::ErrorCode::bytecode_header, "kernel type is " + std::string(to_string(given)) +
                                                     ", but the pipes in use make it " +
                                                     std::string(to_string(type)));
  }
  auto require_used = [](int used, int count, const char* what) {
    if (used == count) return;
    core::fail(core::ErrorCode::bytecode_invalid,
               std::string(what) + " " + number(used) + " is used by no instruction");
  };
  require_used(next_scalar_, program_.header().scalars, "scalar");
  require_used(next_stream_, program_.header().streams, "stream");
  require_used(next_loop_, program_.header().loops, "loop");
  Tokens carried{};
  for (const LoopFlagInfo& row : kLoopFlags) {
    if ((program_.header().loop_flags & row.flag) == 0) continue;
    carried[static_cast<size_t>(row.src)][static_cast<size_t>(row.dst)][0] = 1;
  }
  for (size_t src = 0; src < kPipeCount; ++src) {
    for (size_t dst = 0; dst < kPipeCount; ++dst) {
      for (size_t event = 0; event < kEventIds; ++event) {
        const int64_t more = tokens_[src][dst][event] - carried[src][dst][event];
        if (more == 0) continue;
        core::fail(core::ErrorCode::bytecode_invalid,
                   name(static_cast<Pipe>(src), static_cast<Pipe>(dst), static_cast<int>(event)) +
                       " is set " + number(more) + " times more than it is waited for in a tile");
      }
    }
  }
}

}  // namespace dvm::vm
