#include "sim/timing/core_clock.h"

#include <algorithm>

#include "core/error.h"

namespace dvm::sim {

namespace {

double cycles_of_flag(const TraceOp& op, const vm::CoreTiming& timing) {
  return op.crosses ? timing.cross_flag_cycles : timing.flag_cycles;
}

}  // namespace

CoreClock::CoreClock(int32_t id, Trace trace, std::vector<Transfer> transfers, double begin,
                     const LaunchContext& context)
    : id_(id),
      trace_(std::move(trace)),
      transfers_(std::move(transfers)),
      context_(context),
      scalar_(begin),
      begin_(begin),
      times_(&context.result.cores[static_cast<size_t>(id)]) {
  for (PipeState& pipe : pipes_) pipe.free = pipe.done = begin;
  // The first instructions come from global memory.
  scalar_ += context_.timing.fetch_cycles;
  times(vm::Pipe::scalar).waits[static_cast<size_t>(vm::Pipe::load)] += scalar_ - begin;
}

// One operation, if there is room for it in its queue.
bool CoreClock::issue() {
  if (next_ == trace_.ops.size()) return false;
  const TraceOp& op = trace_.ops[next_];
  PipeState& to = state(op.pipe);
  PipeTimes& scalar = times(vm::Pipe::scalar);
  if (op.kind != TraceOp::Kind::tile &&
      to.in_queue >= static_cast<int64_t>(context_.timing.queue_depth)) {
    if (to.begun.empty()) return false;
    const double room = to.begun.front();
    to.begun.pop_front();
    --to.in_queue;
    if (room > scalar_) {
      scalar.waits[static_cast<size_t>(Wait::room)] += room - scalar_;
      scalar_ = room;
    }
  }
  double cycles = context_.timing.sync_cycles;
  if (op.kind == TraceOp::Kind::tile) cycles = context_.timing.tile_cycles;
  if (op.kind == TraceOp::Kind::execute) {
    cycles = context_.timing.decode_cycles +
             static_cast<double>(op.indices) * context_.timing.index_cycles;
  }
  scalar_ += cycles;
  scalar.busy += cycles;
  ++scalar.operations;
  if (op.kind != TraceOp::Kind::tile) {
    to.queue.push_back({&op, scalar_});
    ++to.in_queue;
  }
  ++next_;
  return true;
}

void CoreClock::pop(PipeState& pipe, double begin) { pipe.begun.push_back(begin); }

void CoreClock::wait_until(PipeState& pipe, PipeTimes& times, double begin, double issued,
                           Wait otherwise) {
  if (begin <= pipe.free) return;
  const double decode = std::clamp(issued, pipe.free, begin) - pipe.free;
  times.waits[static_cast<size_t>(Wait::decode)] += decode;
  times.waits[static_cast<size_t>(otherwise)] += begin - pipe.free - decode;
  pipe.waited += begin - pipe.free;
}

std::optional<double> CoreClock::take_flag(const TraceOp& op) {
  const auto take = [](std::span<std::deque<double>> all) -> std::optional<double> {
    double seen = 0;
    for (const std::deque<double>& set : all) {
      if (set.empty()) return std::nullopt;
      seen = std::max(seen, set.front());
    }
    for (std::deque<double>& set : all) set.pop_front();
    return seen;
  };
  if (!op.crosses) return take({&flag(op.other, op.pipe, op.event), 1});
  // The cube waits for all vector cores.
  return place_ == 0 ? take(cross_flags_->loaded) : take({&cross_flags_->left[place_ - 1], 1});
}

bool CoreClock::wait_for_flag(const Issued& next) {
  const TraceOp& op = *next.op;
  const std::optional<double> set = take_flag(op);
  if (!set) return false;
  PipeState& pipe = state(op.pipe);
  const double ready = std::max(pipe.free, next.time), begin = std::max(ready, *set);
  wait_until(pipe, times(op.pipe), begin, next.time, static_cast<Wait>(op.other));
  const double end = begin + context_.timing.sync_cycles;
  if (context_.events) {
    context_.result.flags.push_back({id_, op.other, op.pipe, op.event,
                                     *set - cycles_of_flag(op, context_.timing), begin,
                                     op.crosses});
    context_.result.events.push_back({id_, op.insn, op.pipe, true, op.tile, ready, end, end});
  }
  times(op.pipe).busy += context_.timing.sync_cycles;
  pop(pipe, begin);
  pipe.worked = pipe.worked && begin <= pipe.free;
  pipe.free = end;
  end_ = std::max(end_, end);
  return true;
}

// A flag is seen when all before it is done; the pipe itself goes on.
void CoreClock::set_flag(const Issued& next) {
  const TraceOp& op = *next.op;
  PipeState& pipe = state(op.pipe);
  const double begin = std::max(pipe.free, next.time);
  wait_until(pipe, times(op.pipe), begin, next.time, Wait::decode);
  pop(pipe, begin);
  pipe.free = begin + context_.timing.sync_cycles;
  times(op.pipe).busy += context_.timing.sync_cycles;
  const double done = std::max(pipe.free, pipe.done);
  const double seen = done + cycles_of_flag(op, context_.timing);
  if (!op.crosses) {
    flag(op.pipe, op.other, op.event).push_back(seen);
  } else if (place_ == 0) {
    for (std::deque<double>& left : cross_flags_->left) left.push_back(seen);
  } else {
    cross_flags_->loaded[place_ - 1].push_back(seen);
  }
  end_ = std::max(end_, pipe.free);
}

void CoreClock::compute(const Issued& next) {
  const TraceOp& op = *next.op;
  PipeState& pipe = state(op.pipe);
  if (op.pipe == vm::Pipe::scalar) {  // a loop: control alone
    pipe.free = std::max(pipe.free, next.time);
    return pop(pipe, next.time);
  }
  const vm::Instruction& insn = *context_.index.all()[static_cast<size_t>(op.insn)];
  const Effort effort = effort_of(op, insn, context_.timing);
  double ready = std::max(pipe.free, next.time);
  if (op.depends != 0) ready = std::max(ready, pipe.earlier[op.depends - 1]);
  wait_until(pipe, times(op.pipe), ready, next.time, Wait::result);
  const bool idle = !pipe.worked || ready > pipe.free;
  const double end = ready + (idle ? effort.head : 0) + effort.cycles, done = end + effort.tail;
  pop(pipe, ready);
  pipe.free = end;
  pipe.worked = true;
  std::copy_backward(pipe.earlier, std::end(pipe.earlier) - 1, std::end(pipe.earlier));
  pipe.earlier[0] = done;
  executed(op, ready, end, done, op.bytes);
}

void CoreClock::executed(const TraceOp& op, double begin, double end, double done, int64_t bytes) {
  PipeState& pipe = state(op.pipe);
  PipeTimes& pipe_times = times(op.pipe);
  pipe.done = std::max(pipe.done, done);
  end_ = std::max(end_, pipe.done);
  pipe_times.busy += end - begin;
  pipe_times.bytes += bytes;
  ++pipe_times.operations;
  InstructionTimes& insn = context_.result.instructions[static_cast<size_t>(op.insn)];
  insn.busy += end - begin;
  insn.waits += pipe.waited;
  insn.bytes += bytes;
  insn.repeats += op.repeats;
  ++insn.count;
  pipe.waited = 0;
  if (context_.events) {
    context_.result.events.push_back({id_, op.insn, op.pipe, false, op.tile, begin, end, done});
  }
}

void CoreClock::end_transfer(vm::Pipe which, double now, double slowed_by_l2,
                             double slowed_by_hbm) {
  PipeState& pipe = state(which);
  const TraceOp& op = *pipe.queue.front().op;
  pipe.queue.pop_front();
  pipe.blocked = false;
  pipe.free = now;
  times(which).slowed_by_l2 += slowed_by_l2;
  times(which).slowed_by_hbm += slowed_by_hbm;
  const Transfer& transfer = transfers_[static_cast<size_t>(op.reach)];
  executed(op, pipe.transfer_begin, now, now + transfer.latency, transfer.bytes);
}

void CoreClock::finish() {
  DVM_CHECK(next_ == trace_.ops.size(), "a timed core has not issued all of its operations");
  for (const PipeState& pipe : pipes_) {
    DVM_CHECK(pipe.queue.empty(), "a timed pipe waits for what never comes");
  }
  end_ = std::max(end_, scalar_);
  times_->begin = begin_;
  times_->end = end_;
  for (int p = 0; p < vm::kPipeCount; ++p) {
    PipeTimes& pipe = times_->pipes[static_cast<size_t>(p)];
    double sum = pipe.busy;
    for (const double wait : pipe.waits) sum += wait;
    pipe.waits[static_cast<size_t>(Wait::done)] += end_ - begin_ - sum;
  }
}

}  // namespace dvm::sim
