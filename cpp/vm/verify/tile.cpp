// Instructions by themselves, and the flags between them.
#include "vm/verify/tile.h"

#include "core/error.h"
#include "vm/isa/reduce_source.h"

namespace dvm::vm {

TileVerifier::TileVerifier(const Program& program, const TargetTraits& target)
    : program_(program), target_(target), written_streams_(program.header().streams) {
  for (const LoopFlagInfo& row : kLoopFlags) {
    if (program.header().loop_flags & row.flag) {
      tokens_[static_cast<int>(row.src)][static_cast<int>(row.dst)][0] = 1;
    }
  }
}

void TileVerifier::fail(const std::string& message) const {
  core::fail(core::ErrorCode::bytecode_invalid,
             "instruction " + number(index_) + insn_name_ + ": " + message);
}

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
                        (insn.is_view() ? 2 * size_t{insn.aux} : 0) + insn.steps + insn.syncs;
  if (insn.words != length || length > rest.size()) {
    fail("length is " + number(insn.words) + " words, its parts take " + number(length) +
         ", the code has " + number(rest.size()));
  }
  check_fixed_part(insn);
  check_extents(insn);
  check_split(insn);
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
  return length;
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
  if (insn.is_chain() && insn.dtype != DType{}) fail("a chain has no dtype of its own");
  int aux_end = 1, aux_begin = 0;
  if (insn.is_chain()) aux_begin = 1, aux_end = kMaxChainOperands + 1;
  if (row.format == Format::cast) aux_end = core::kDTypeCount;
  if (row.format == Format::compare) aux_end = kCompareCount;
  if (row.format == Format::reduce) aux_end = 2 * (core::kDTypeCount + 1);
  if (insn.is_view()) aux_begin = 1, aux_end = kMaxRank + 1;
  if (insn.aux < aux_begin || insn.aux >= aux_end) {
    fail("aux is " + number(insn.aux) + ", outside [" + number(aux_begin) + ", " + number(aux_end) +
         ")");
  }
  if (row.format == Format::reduce && insn.aux >= 2 &&
      !(target_.streams &&
        reads(insn.insn, insn.dtype, reduce_order(insn.aux), operand_dtype(insn, 1)))) {
    fail("a reduction to " + std::string(core::to_string(insn.dtype)) + " reads no " +
         std::string(core::to_string(operand_dtype(insn, 1))) + " on target " +
         std::string(target_.name));
  }
}

void TileVerifier::check_extents(const Instruction& insn) const {
  const ExtentKind kind = info(info(insn.insn).format).extents;
  if (kind != ExtentKind::triple && ((insn.m != 1 && !insn.is_chain()) || insn.n != 1)) {
    fail("m and n are " + number(insn.m) + " and " + number(insn.n) + ", not 1");
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
    for (const ViewDim& dim : insn.view_dims()) {
      multiply(dim.extent);
      // Beyond any real memory, and small enough that stepping past a row cannot overflow.
      const int64_t limit = kMaxViewBytes / dim.extent;
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
  for (int64_t extent : {insn.m, insn.size, insn.n}) multiply(extent);
}

void TileVerifier::check_split(const Instruction& insn) const {
  if (insn.split == 0) {
    if (insn.tail != 0) fail("tail is " + number(insn.tail) + " without a split extent");
    return;
  }
  if (program_.header().grid_rank == 0) fail("a split extent needs a grid dimension");
  int64_t extent = 0;
  switch (info(info(insn.insn).format).extents) {
    case ExtentKind::linear:
      if (insn.split == static_cast<int>(Split::size)) extent = insn.size;
      if (insn.split == static_cast<int>(Split::m) && insn.m > 1) extent = insn.m;
      break;
    case ExtentKind::triple:
      if (insn.split <= static_cast<int>(Split::n)) {
        const int64_t triple[] = {insn.m, insn.size, insn.n};
        extent = triple[insn.split - 1];
      }
      break;
    case ExtentKind::view:
      if (insn.split <= insn.aux) extent = insn.view_dims()[insn.split - 1u].extent;
      break;
  }
  if (extent == 0) fail("split " + number(insn.split) + " names no extent of this format");
  if (insn.tail < 1 || insn.tail > extent) {
    fail("tail " + number(insn.tail) + " is outside [1, " + number(extent) + "]");
  }
}

std::string TileVerifier::name(Pipe src, Pipe dst, int event) {
  return std::string(to_string(src)) + "_" + std::string(to_string(dst)) + " flag " + number(event);
}

void TileVerifier::check_syncs(const Instruction& insn) {
  bool sets_begun = false;
  for (const Sync& sync : insn.sync_list()) {
    if (!target_.flags) fail("target " + std::string(target_.name) + " has no flags");
    if (sync.set > 1 || sync.zero != 0 || static_cast<int>(sync.src) >= kPipeCount ||
        static_cast<int>(sync.dst) >= kPipeCount || sync.src == sync.dst) {
      fail("a flag has bits set that mean nothing");
    }
    if (sync.event >= kEventIds) {
      fail("event " + number(sync.event) + " exceeds " + number(kEventIds - 1));
    }
    const std::string flag = name(sync.src, sync.dst, sync.event);
    const Pipe pipe = info(insn.insn).pipe;
    if (pipe != (sync.set ? sync.src : sync.dst)) {
      fail(std::string(to_string(pipe)) + " pipe cannot " + (sync.set ? "set " : "wait for ") +
           flag);
    }
    if (sets_begun && !sync.set) fail("waits for " + flag + " after a set");
    sets_begun = sync.set != 0;
    int64_t& count = tokens_[static_cast<int>(sync.src)][static_cast<int>(sync.dst)][sync.event];
    count += sync.set ? 1 : -1;
    if (count < 0) fail("waits for " + flag + ", which nothing has set");
  }
}

void TileVerifier::finish() const {
  auto require_used = [](int used, int count, const char* what) {
    if (used == count) return;
    core::fail(core::ErrorCode::bytecode_invalid,
               std::string(what) + " " + number(used) + " is used by no instruction");
  };
  require_used(next_scalar_, program_.header().scalars, "scalar");
  require_used(next_stream_, program_.header().streams, "stream");
  for (int src = 0; src < kPipeCount; ++src) {
    for (int dst = 0; dst < kPipeCount; ++dst) {
      for (int event = 0; event < kEventIds; ++event) {
        int64_t carried = 0;
        for (const LoopFlagInfo& row : kLoopFlags) {
          if ((program_.header().loop_flags & row.flag) && static_cast<int>(row.src) == src &&
              static_cast<int>(row.dst) == dst && event == 0) {
            carried = 1;
          }
        }
        if (tokens_[src][dst][event] == carried) continue;
        core::fail(core::ErrorCode::bytecode_invalid,
                   name(static_cast<Pipe>(src), static_cast<Pipe>(dst), event) + " is set " +
                       number(tokens_[src][dst][event] - carried) +
                       " times more than it is waited for in a tile");
      }
    }
  }
}

}  // namespace dvm::vm
