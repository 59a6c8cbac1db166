#include "vm/run/count_work.h"

#include <vector>

#include "vm/run/interpreter.h"

namespace dvm::vm {

namespace {

bool is_arithmetic(Insn insn) {
  switch (insn) {
    case Insn::copy:
    case Insn::positive:
    case Insn::broadcast:
    case Insn::cast:
    case Insn::select:
      return false;
    default:
      return info(insn).pipe == Pipe::simd;
  }
}

struct CountingCore {
  static constexpr bool kFlags = false;
  int64_t operations = 0;
  Fault fault = Fault::none;

  static std::byte* scratch() { return nullptr; }
  static std::byte* local(Space, uint32_t) { return nullptr; }
  void begin(const Header&) {}
  void end(const Header&) {}
  void execute(const Instruction& insn, const TileArgs& args, const Tile& tile) {
    const int64_t volume = args.m * args.size * args.n;
    if (insn.insn == Insn::matmul) {
      operations += 2 * volume;
    } else if (insn.is_attention()) {
      operations += 2 * args.m * args.size * (int64_t{insn.attention().depth} + args.n);
    } else if (is_reduction(insn.insn)) {
      operations += volume;
    } else if (is_arithmetic(insn.insn)) {
      operations += operand_elements(insn, 0, tile.ends);
    }
  }
  void execute_chain(const ChainArgs& args, const Tile&) {
    for (const MicroOp& step : args.insn->micro_ops()) {
      if (is_arithmetic(step.insn)) operations += args.rows * args.columns;
    }
  }
};

}  // namespace

Work count_work(const Program& program) {
  // Bases that nobody follows.
  const std::vector<std::byte*> bases(program.globals().size(), nullptr);
  CountingCore core;
  run_tiles(program, bases, 0, program.header().tile_count, core);
  Work work{core.operations, 0};
  for (const Global& global : program.globals()) work.bytes += global.high - global.low;
  return work;
}

}  // namespace dvm::vm
