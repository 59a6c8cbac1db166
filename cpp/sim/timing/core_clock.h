// One simulated core in time: the scalar unit issues the operations of its trace into the queues of
// the pipes, which begin them in order, as soon as their flags are set. What happens is a function
// of when transfers end; only the chip knows that (timeline.cpp), so that a core runs ahead until
// it needs to be told.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "sim/timing/cost.h"
#include "sim/timing/timing.h"

namespace dvm::sim {

// What all cores of a launch have in common.
struct LaunchContext {
  const vm::CoreTiming& timing;
  const InstructionIndex& index;
  ProgramTiming& result;
  bool events;
};

// Flags between the cores of a group: when each vector core sees what was set.
struct CrossFlags {
  std::deque<double> left[vm::kVectorCores], loaded[vm::kVectorCores];
};

class CoreClock {
 public:
  CoreClock(int32_t id, Trace trace, std::vector<Transfer> transfers, double begin,
            const LaunchContext& context);
  // The core is that one of a group: the cube's, or a vector core from 1 on.
  void join(CrossFlags& flags, int place) {
    cross_flags_ = &flags;
    place_ = place;
  }

  // Does all that can be done, and says whether that was anything. Transfers that begin are told to
  // starts(pipe, time, transfer).
  template <typename Starts>
  bool advance(Starts starts);
  // The transfer of that pipe has ended; slowed: what it lost, by Limit.
  void end_transfer(vm::Pipe which, double now, double slowed_by_l2, double slowed_by_hbm);
  // All is done: what is left of each pipe's time. InternalError where something is not.
  void finish();
  double end() const { return end_; }

 private:
  struct Issued {
    const TraceOp* op;
    double time;
  };
  struct PipeState {
    std::deque<Issued> queue;
    std::deque<double> begun;  // of operations whose place in the queue is free, when that was
    int64_t in_queue = 0;      // issued, and not known to have begun when the last one was
    double free = 0, done = 0;
    bool worked = false;
    bool blocked = false;       // a transfer is under way
    double transfer_begin = 0;  // of it
    double earlier[8] = {};     // when the results of the last operations are there
    double waited = 0;          // since the last one that executed
  };

  PipeState& state(vm::Pipe pipe) { return pipes_[static_cast<size_t>(pipe)]; }
  PipeTimes& times(vm::Pipe pipe) { return times_->pipes[static_cast<size_t>(pipe)]; }
  std::deque<double>& flag(vm::Pipe src, vm::Pipe dst, uint8_t event) {
    return flags_[static_cast<size_t>(src)][static_cast<size_t>(dst)][event];
  }

  bool issue();
  template <typename Starts>
  bool begin_next(vm::Pipe pipe, Starts& starts);
  bool wait_for_flag(const Issued& next);
  // When what it waits for is seen; none while that is not set.
  std::optional<double> take_flag(const TraceOp& op);
  void set_flag(const Issued& next);
  void compute(const Issued& next);
  // Accounts for the time from when the pipe was free to `begin`.
  void wait_until(PipeState& pipe, PipeTimes& times, double begin, double issued, Wait otherwise);
  void pop(PipeState& pipe, double begin);
  void executed(const TraceOp& op, double begin, double end, double done, int64_t bytes);

  int32_t id_;
  Trace trace_;
  std::vector<Transfer> transfers_;  // one per Trace::reaches
  const LaunchContext context_;
  size_t next_ = 0;    // operation to issue
  double scalar_ = 0;  // when the scalar unit goes on
  double begin_, end_ = 0;
  CoreTimes* times_;
  std::array<PipeState, vm::kPipeCount> pipes_;
  std::deque<double> flags_[vm::kPipeCount][vm::kPipeCount][vm::kEventIds];
  CrossFlags* cross_flags_ = nullptr;
  int place_ = 0;
};

template <typename Starts>
bool CoreClock::begin_next(vm::Pipe pipe, Starts& starts) {
  PipeState& now = state(pipe);
  if (now.blocked || now.queue.empty()) return false;
  const Issued next = now.queue.front();
  if (next.op->kind == TraceOp::Kind::wait) {
    if (!wait_for_flag(next)) return false;
  } else if (next.op->kind == TraceOp::Kind::set) {
    set_flag(next);
  } else if (next.op->reach < 0) {
    compute(next);
  } else {
    const double begin = std::max(now.free, next.time);
    wait_until(now, times(pipe), begin, next.time, Wait::decode);
    pop(now, begin);
    now.blocked = true;
    now.transfer_begin = begin;
    starts(pipe, begin, transfers_[static_cast<size_t>(next.op->reach)]);
    return true;  // which stays at the front until it has ended
  }
  now.queue.pop_front();
  return true;
}

template <typename Starts>
bool CoreClock::advance(Starts starts) {
  bool any = false;
  for (bool more = true; more;) {
    more = false;
    while (issue()) more = true;
    for (int pipe = 0; pipe < vm::kPipeCount; ++pipe) {
      while (begin_next(static_cast<vm::Pipe>(pipe), starts)) more = true;
    }
    any = any || more;
  }
  return any;
}

}  // namespace dvm::sim
