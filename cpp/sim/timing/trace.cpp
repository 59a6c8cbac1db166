#include "sim/timing/trace.h"

#include <algorithm>

#include "core/math/integers.h"
#include "vm/target/target.h"

namespace dvm::sim {

namespace {

using vm::Insn;
using vm::Instruction;
using vm::Tile;

int64_t operand_bytes(const Instruction& insn, int operand, const Tile& tile) {
  return operand_elements(insn, operand, tile.ends) * core::byte_size(operand_dtype(insn, operand));
}

// Of the operand that has most bytes: a repeat takes the same bytes of all. A reduction goes
// through its source, an attention multiplies each row of q by all of k and v.
int64_t vector_bytes(const Instruction& insn, const vm::TileArgs& args, const Tile& tile) {
  if (insn.is_attention()) {
    return args.m * args.size * (int64_t{insn.attention().depth} + args.n) *
           core::byte_size(insn.dtype);
  }
  // Rows of a reduction, and those that a broadcast repeats one element to, are repeats of their
  // own.
  if (vm::is_reduction(insn.insn) && args.n == 1) {
    const int64_t row = args.size * core::byte_size(operand_dtype(insn, 1));
    return args.m * (args.m == 1 ? row : core::round_up(row, kRepeatBytes));
  }
  int64_t most = 0;
  for (int k = 0; k < insn.operand_count(); ++k) {
    if (insn.operands()[k].mode != vm::Mode::scalar) {
      most = std::max(most, operand_bytes(insn, k, tile));
    }
  }
  return most;
}

// Products of fractals: 16 rows by 16 columns, of 32 bytes of k each.
int64_t fractal_products(const Instruction& insn, const vm::TileArgs& args) {
  const auto element = core::byte_size(vm::MatrixAux::of(insn.dtype, insn.aux).source);
  constexpr int64_t kRows = 16, kDepthBytes = 32;
  return core::ceil_div(args.m, kRows) * core::ceil_div(args.n, kRows) *
         core::ceil_div(args.size * element, kDepthBytes);
}

// The Core that only the Tracer sees.
struct UncomputedCore {
  static constexpr bool kFlags = true;
  Tracer& tracer;
  vm::Fault fault = vm::Fault::none;

  static std::byte* scratch() { return nullptr; }
  static std::byte* local(vm::Space, uint32_t) { return nullptr; }
  void begin(const vm::Header& header) const { tracer.begin(header); }
  void end(const vm::Header& header) const { tracer.end(header); }
  void wait(const Instruction& insn, const vm::Sync& flag, const Tile& tile) const {
    tracer.wait(insn, flag, tile);
  }
  void set(const Instruction& insn, const vm::Sync& flag, const Tile& tile) const {
    tracer.set(insn, flag, tile);
  }
  void execute(const Instruction& insn, const vm::TileArgs& args, const Tile& tile) const {
    tracer.execute(insn, args, tile);
  }
  void execute_chain(const vm::ChainArgs& args, const Tile& tile) const {
    tracer.execute_chain(args, tile);
  }
};

}  // namespace

int64_t Reach::runs() const {
  int64_t count = 1;
  for (const vm::ViewDim& dim : around) count *= dim.extent;
  return count;
}

void InstructionIndex::add(const vm::Program& program) {
  const std::span<const uint64_t> code = program.code();
  for (const uint64_t* p = code.data(); p != code.data() + code.size();) {
    const auto& insn = *reinterpret_cast<const Instruction*>(p);
    index_.emplace(&insn, static_cast<int32_t>(all_.size()));
    all_.push_back(&insn);
    p += insn.words;
  }
}

// Before the first operation of each tile.
void Tracer::enter(int64_t tile) {
  if (tile == last_tile_) return;
  last_tile_ = tile;
  TraceOp& begin = trace_.ops.emplace_back();
  begin.kind = TraceOp::Kind::tile;
  begin.pipe = vm::Pipe::scalar;
  begin.tile = tile;
}

void Tracer::flag(TraceOp::Kind kind, const vm::Sync& flag, int32_t insn, int64_t tile) {
  TraceOp op;
  op.kind = kind;
  const bool waits = kind == TraceOp::Kind::wait;
  op.pipe = waits ? flag.dst : flag.src;
  op.other = waits ? flag.src : flag.dst;
  op.event = flag.event;
  op.insn = insn;
  op.tile = tile;
  trace_.ops.push_back(op);
}

void Tracer::begin(const vm::Header& header) {
  for (const vm::LoopFlagInfo& row : vm::kLoopFlags) {
    if (header.loop_flags & row.flag) flag(TraceOp::Kind::set, {0, row.src, row.dst, 0, 0}, -1, -1);
  }
}

void Tracer::end(const vm::Header& header) {
  for (const vm::LoopFlagInfo& row : vm::kLoopFlags) {
    if (header.loop_flags & row.flag) {
      flag(TraceOp::Kind::wait, {0, row.src, row.dst, 0, 0}, -1, -1);
    }
  }
}

void Tracer::wait(const Instruction& insn, const vm::Sync& sync, const Tile& tile) {
  enter(tile.index);
  flag(TraceOp::Kind::wait, sync, index_.of(insn), tile.index);
}

void Tracer::set(const Instruction& insn, const vm::Sync& sync, const Tile& tile) {
  enter(tile.index);
  flag(TraceOp::Kind::set, sync, index_.of(insn), tile.index);
}

TraceOp& Tracer::add(const Instruction& insn, const Tile& tile) {
  enter(tile.index);
  TraceOp& op = trace_.ops.emplace_back();
  op.pipe = info(insn.insn).pipe;
  op.insn = index_.of(insn);
  op.tile = tile.index;
  return op;
}

void Tracer::execute(const Instruction& insn, const vm::TileArgs& args, const Tile& tile) {
  TraceOp& op = add(insn, tile);
  if (insn.insn == Insn::matmul) {
    op.repeats = fractal_products(insn, args);
    return;
  }
  if (op.pipe == vm::Pipe::simd) {
    op.repeats = vector_bytes(insn, args, tile);
    order(op, insn, tile);
    return;
  }
  op.bytes = operand_bytes(insn, 0, tile);
  for (int k = 0; k < insn.operand_count(); ++k) {
    if (!is_stream(insn.operands()[k])) continue;
    reach(op, insn, k, k == 0 ? args.dst : args.src[k - 1], args, tile);
  }
  if (info(insn.insn).format == vm::Format::gather) {
    op.indices = operand_elements(insn, vm::kIndexOperand, tile.ends);
  }
}

void Tracer::execute_chain(const vm::ChainArgs& args, const Tile& tile) {
  const Instruction& insn = *args.insn;
  TraceOp& op = add(insn, tile);
  // As many instructions as it has steps.
  for (const vm::MicroOp& step : insn.micro_ops()) {
    op.repeats += args.rows * args.columns * core::byte_size(step.dtype);
  }
  order(op, insn, tile);
}

// One run, or the runs of a view: the innermost dims that lie one behind the other are in the run.
void Tracer::reach(TraceOp& op, const Instruction& insn, int operand, const std::byte* address,
                   const vm::TileArgs& args, const Tile& tile) {
  op.reach = static_cast<int32_t>(trace_.reaches.size());
  Reach& reach = trace_.reaches.emplace_back();
  const int64_t global = program_.stream(insn.operands()[operand].index).global;
  reach.global = static_cast<int16_t>(global);
  reach.writes = vm::writes(insn, operand);
  const auto base = reinterpret_cast<uint64_t>(globals_[static_cast<size_t>(global)]);
  reach.begin = static_cast<int64_t>(reinterpret_cast<uint64_t>(address) - base);
  const int64_t element = core::byte_size(operand_dtype(insn, operand));
  if (args.dims == nullptr) {
    reach.bytes = operand_elements(insn, operand, tile.ends) * element;
    return;
  }
  reach.bytes = element;
  std::vector<vm::ViewDim> dims(args.dims, args.dims + insn.aux);
  // L1 has fractals, which the cube's pipes turn where they need it: rows or columns may be runs.
  if (vm::space_of(insn.operands()[0]) == vm::Space::l1) {
    std::ranges::stable_sort(dims, std::ranges::greater(), &vm::ViewDim::stride);
  }
  // Rows that a gather chooses are runs of their own.
  const size_t chosen = info(insn.insn).format == vm::Format::gather ? insn.m : 0;
  while (!dims.empty() && dims.size() != chosen && dims.back().stride == reach.bytes) {
    reach.bytes *= dims.back().extent;
    dims.pop_back();
  }
  std::erase_if(dims, [](const vm::ViewDim& dim) { return dim.extent == 1; });
  reach.around = std::move(dims);
}

void Tracer::order(TraceOp& op, const Instruction& insn, const Tile& tile) {
  const auto range = [&](int k) {
    const vm::Operand& operand = insn.operands()[k];
    const int64_t begin = operand.offset;
    return Written{vm::space_of(operand), begin, begin + operand_bytes(insn, k, tile)};
  };
  for (int k = 0; k < insn.operand_count(); ++k) {
    if (insn.operands()[k].mode != vm::Mode::slot) continue;
    if (vm::writes(insn, k) && !insn.is_chain()) continue;
    const Written read = range(k);
    for (int ago = 0; ago < remembered_; ++ago) {
      const Written& earlier = written_[ago];
      if (earlier.space != read.space || earlier.begin >= read.end || read.begin >= earlier.end) {
        continue;
      }
      if (op.depends == 0 || ago + 1 < op.depends) op.depends = static_cast<uint8_t>(ago + 1);
      break;
    }
  }
  Written latest{};
  for (int k = 0; k < insn.operand_count(); ++k) {
    if (vm::writes(insn, k) && insn.operands()[k].mode == vm::Mode::slot) latest = range(k);
  }
  std::copy_backward(written_, written_ + kRemembered - 1, written_ + kRemembered);
  written_[0] = latest;
  remembered_ = std::min(remembered_ + 1, kRemembered);
}

Trace trace_core(const vm::Program& program, const InstructionIndex& index, int64_t id) {
  Trace trace;
  // Bases are numbers that nobody follows; as on the device, they are multiples of all alignments.
  const std::vector<std::byte*> bases(program.globals().size(), nullptr);
  Tracer tracer(program, index, bases, trace);
  const vm::Header& header = program.header();
  const int64_t begin = id * header.body_tile;
  const int64_t end = std::min<int64_t>(begin + header.body_tile, header.tile_count);
  UncomputedCore core{tracer};
  vm::run_tiles(program, bases, begin, end, core);
  return trace;
}

namespace {

void add_cross_flag(Trace& trace, TraceOp::Kind kind, CrossFlag flag, vm::Pipe pipe, int64_t tile) {
  TraceOp& op = trace.ops.emplace_back();
  op.kind = kind;
  op.pipe = pipe;
  op.other = pipe == vm::Pipe::fix ? vm::Pipe::load : vm::Pipe::fix;
  op.event = static_cast<uint8_t>(flag);
  op.crosses = true;
  op.tile = tile;
}

}  // namespace

std::array<Trace, kGroupCores> trace_group(const vm::Launch& launch, const InstructionIndex& index,
                                           int64_t id) {
  using Kind = TraceOp::Kind;
  std::array<Trace, kGroupCores> traces;
  const std::vector<std::byte*> bases(launch.globals.size(), nullptr);
  std::vector<std::byte*> globals = bases;
  const auto run = [&](const vm::Program& program, Trace& trace, int64_t begin, int64_t end) {
    if (begin == end) return;
    Tracer tracer(program, index, bases, trace);
    UncomputedCore core{tracer};
    vm::run_tiles(program, globals, begin, end, core);
  };
  const vm::Header& header = launch.program.header();
  const int64_t begin = id * header.body_tile;
  const int64_t end = std::min<int64_t>(begin + header.body_tile, header.tile_count);
  for (int64_t tile = begin; tile < end; ++tile) {
    const int64_t turn = (tile - begin) % launch.handed.turns;
    const int64_t place = (id * launch.handed.turns + turn) * launch.handed.bytes;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a number that nobody follows
    globals[static_cast<size_t>(launch.handed.global)] = reinterpret_cast<std::byte*>(place);
    if (tile - begin >= launch.handed.turns)
      add_cross_flag(traces[0], Kind::wait, CrossFlag::loaded, vm::Pipe::fix, tile);
    run(launch.program, traces[0], tile, tile + 1);
    add_cross_flag(traces[0], Kind::set, CrossFlag::left, vm::Pipe::fix, tile);
    for (int core = 0; core < vm::kVectorCores; ++core) {
      Trace& trace = traces[1 + static_cast<size_t>(core)];
      add_cross_flag(trace, Kind::wait, CrossFlag::left, vm::Pipe::load, tile);
      for (const vm::Follower& follower : launch.followers) {
        const auto half = vm::half_of(follower.behind(launch.program, tile), tile, core);
        run(follower.program, trace, half.begin, half.end);
      }
      add_cross_flag(trace, Kind::set, CrossFlag::loaded, vm::Pipe::load, tile);
    }
  }
  // No flag is left set for the next launch.
  for (int64_t tile = std::max(begin, end - launch.handed.turns); tile < end; ++tile) {
    add_cross_flag(traces[0], Kind::wait, CrossFlag::loaded, vm::Pipe::fix, tile);
  }
  return traces;
}

}  // namespace dvm::sim
