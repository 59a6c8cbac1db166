#include "sim/timing/cost.h"

#include <algorithm>

#include "core/math/integers.h"

namespace dvm::sim {

namespace {

using vm::CoreTiming;
using vm::Insn;
using vm::Instruction;

double repeats_of(int64_t bytes) {
  return static_cast<double>(core::ceil_div(bytes, kRepeatBytes));
}

Effort vector_effort(const vm::VectorCost& cost, int64_t bytes, const CoreTiming& timing) {
  const double head = std::min(cost.head, timing.vector_head);
  const double tail_mask = bytes % kRepeatBytes == 0 ? 0 : timing.count_mode;
  return {head, cost.slope * repeats_of(bytes) + tail_mask, cost.head - head};
}

Effort chain_effort(const TraceOp& op, const Instruction& insn, const CoreTiming& timing) {
  Effort sum;
  int64_t of_step = 0;
  for (const vm::MicroOp& step : insn.micro_ops()) of_step += core::byte_size(step.dtype);
  for (const vm::MicroOp& step : insn.micro_ops()) {
    const int64_t bytes = op.repeats / of_step * core::byte_size(step.dtype);
    const Effort one = vector_effort(vm::vector_cost(step.insn, step.dtype, false), bytes, timing);
    sum.cycles += sum.tail + one.head + one.cycles;  // each needs what the one before it made
    sum.tail = one.tail;
  }
  return sum;
}

bool takes_scalar(const Instruction& insn) {
  if (insn.operand_count() != 3) return false;
  const bool first = insn.operands()[1].mode == vm::Mode::scalar;
  const bool second = insn.operands()[2].mode == vm::Mode::scalar;
  return insn.insn == Insn::sub ? second && !first : first != second;
}

double feed_bytes(vm::Space to, const CoreTiming& timing) {
  switch (to) {
    case vm::Space::l0a:
      return timing.feed_a_bytes;
    case vm::Space::l0b:
      return timing.feed_b_bytes;
    default:
      return timing.feed_bt_bytes;
  }
}

// Halves, bytes and floats; wider elements, which no hardware multiplies, take twice as long again.
double fractal_cycles(core::DType source, const CoreTiming& timing) {
  const double wide = timing.cube_cycles * timing.cube_wide;
  if (source == core::DType::f32) return wide;
  return core::byte_size(source) <= 2 ? timing.cube_cycles : 2 * wide;
}

double cap_of(const Instruction& insn, const CoreTiming& timing) {
  const vm::Operand& to = insn.operands()[0];
  switch (vm::info(insn.insn).pipe) {
    case vm::Pipe::store:
      return timing.store_bytes;
    case vm::Pipe::fix:
      return timing.drain_bytes;
    default:
      return vm::space_of(to) == vm::Space::ub ? timing.load_ub_bytes : timing.load_l1_bytes;
  }
}

}  // namespace

Effort effort_of(const TraceOp& op, const Instruction& insn, const CoreTiming& timing) {
  if (op.pipe == vm::Pipe::cube) {
    const double each = fractal_cycles(vm::MatrixAux::of(insn.dtype, insn.aux).source, timing);
    return {timing.cube_head, each * static_cast<double>(op.repeats), 0};
  }
  if (op.pipe == vm::Pipe::feed) {
    const double rate = feed_bytes(vm::space_of(insn.operands()[0]), timing);
    return {0, static_cast<double>(op.bytes) / rate, timing.feed_cycles};
  }
  if (insn.is_chain()) return chain_effort(op, insn, timing);
  if (insn.is_attention()) {
    return vector_effort({timing.attend_slope, timing.attend_head}, op.repeats, timing);
  }
  vm::VectorCost cost = vm::vector_cost(insn.insn, insn.dtype, takes_scalar(insn));
  // Of reductions over rows an instruction adds one row to another.
  if (vm::is_reduction(insn.insn) && insn.n != 1) cost.slope = timing.column_slope;
  return vector_effort(cost, op.repeats, timing);
}

Transfer transfer_of(const Reach& reach, const Instruction& insn, int64_t buffer,
                     const CoreTiming& timing, SecondCache& cache) {
  constexpr int64_t kBlock = 32;
  Transfer transfer;
  transfer.cap = cap_of(insn, timing);
  const int64_t runs = reach.runs();
  transfer.bytes = runs * core::round_up(reach.bytes, kBlock);
  int64_t lines = 0, missing = 0;
  reach.for_each_run([&](int64_t begin) {
    lines += cache.lines(begin, reach.bytes);
    missing += cache.touch(buffer, begin, reach.bytes);
  });
  const auto line = static_cast<double>(cache.line_bytes());
  const auto bytes = static_cast<double>(transfer.bytes);
  if (transfer.bytes == 0) return transfer;
  // Bytes of lines that are not all used take the rate of what is, down to the worst.
  const double used = bytes / (static_cast<double>(lines) * line);
  const double share = std::clamp(used, timing.unaligned_share, 1.0);
  const double least = static_cast<double>(runs) * timing.run_cycles * transfer.cap;
  transfer.amount = std::max(bytes / share, runs > 1 ? least : 0) + timing.ramp_bytes;
  transfer.hbm_bytes = missing * cache.line_bytes();
  transfer.l2 = bytes / transfer.amount;
  transfer.hbm = static_cast<double>(transfer.hbm_bytes) / transfer.amount;
  transfer.latency = reach.writes              ? timing.write_cycles
                     : transfer.hbm_bytes != 0 ? timing.miss_cycles
                                               : timing.hit_cycles;
  return transfer;
}

}  // namespace dvm::sim
