// The event queue: cores run ahead by themselves (core_clock.h), transfers share the chip.
#include <algorithm>
#include <memory>
#include <queue>
#include <tuple>

#include "sim/timing/bandwidth.h"
#include "sim/timing/core_clock.h"
#include "vm/target/pace.h"

namespace dvm::sim {

namespace {

// A transfer that begins, in the order of time; what begins at the same time goes by core and pipe.
struct Arrival {
  double time;
  int32_t core;
  vm::Pipe pipe;
  const Transfer* transfer;
  bool operator>(const Arrival& other) const {
    return std::tie(time, core, pipe) > std::tie(other.time, other.core, other.pipe);
  }
};

struct Moving {
  int32_t core;
  vm::Pipe pipe;
  double left;                                 // of its amount
  double slowed_by_l2 = 0, slowed_by_hbm = 0;  // cycles
};

class Chip {
 public:
  // So many neighbouring cores wait for each other. `transfers`: of all cores.
  Chip(std::vector<std::unique_ptr<CoreClock>> cores, int32_t group, int64_t transfers,
       const vm::CoreTiming& timing)
      : cores_(std::move(cores)), group_(group), transfers_(transfers), timing_(timing) {}

  void run() {
    for (size_t core = 0; core < cores_.size(); ++core) advance(static_cast<int32_t>(core));
    double now = 0;
    while (!arrivals_.empty() || !moving_.empty()) {
      double next = arrivals_.empty() ? kNever : arrivals_.top().time;
      for (size_t k = 0; k < moving_.size(); ++k) next = std::min(next, end_of(k, now));
      end_transfers(now, next);
      if (pace_ != nullptr) pace_->at(vm::Pace::Work::operations, ended_, transfers_);
      now = next;
      while (!arrivals_.empty() && arrivals_.top().time <= now) {
        const Arrival& arrival = arrivals_.top();
        moving_.push_back({arrival.core, arrival.pipe, arrival.transfer->amount});
        shares_.push_back({arrival.transfer});
        arrivals_.pop();
      }
      share_bandwidth(shares_, timing_);
    }
    for (const auto& core : cores_) core->finish();
  }

  double end() const {
    double latest = 0;
    for (const auto& core : cores_) latest = std::max(latest, core->end());
    return latest;
  }

 private:
  static constexpr double kNever = 1e300;

  double end_of(size_t k, double now) const { return now + moving_[k].left / shares_[k].rate; }

  // The core, and those that may have waited for it.
  void advance(int32_t core) {
    const int32_t first = core / group_ * group_;
    for (bool more = true; more;) {
      more = false;
      for (int32_t one = first; one < first + group_; ++one) {
        const bool any = cores_[static_cast<size_t>(one)]->advance(
            [&](vm::Pipe pipe, double time, const Transfer& transfer) {
              arrivals_.push({time, one, pipe, &transfer});
            });
        more = more || (any && group_ > 1);
      }
    }
  }

  // Moves time on; those that end by then are taken out, and their cores go on.
  void end_transfers(double now, double next) {
    std::vector<Moving> ended;
    size_t kept = 0;
    for (size_t k = 0; k < moving_.size(); ++k) {
      Moving& one = moving_[k];
      const bool ends = end_of(k, now) <= next;
      const Share& share = shares_[k];
      const double lost = (next - now) * (1 - share.rate / share.transfer->cap);
      if (share.limit == Limit::l2) one.slowed_by_l2 += lost;
      if (share.limit == Limit::hbm) one.slowed_by_hbm += lost;
      one.left -= share.rate * (next - now);
      if (ends) {
        ended.push_back(one);
        continue;
      }
      moving_[kept] = one;
      shares_[kept++] = share;
    }
    moving_.resize(kept);
    shares_.resize(kept);
    ended_ += static_cast<int64_t>(ended.size());
    for (const Moving& one : ended) {
      cores_[static_cast<size_t>(one.core)]->end_transfer(one.pipe, next, one.slowed_by_l2,
                                                          one.slowed_by_hbm);
      advance(one.core);
    }
  }

  std::vector<std::unique_ptr<CoreClock>> cores_;
  const int32_t group_;
  const int64_t transfers_;
  const vm::CoreTiming& timing_;
  vm::Pace* const pace_ = vm::Pace::current();
  int64_t ended_ = 0;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
  std::vector<Moving> moving_;
  std::vector<Share> shares_;  // of each of them
};

ProgramTiming time_launch(const TimedLaunch& launch, double begin, const vm::CoreTiming& timing,
                          SecondCache& cache, bool events) {
  const vm::Program& program = launch.program;
  InstructionIndex index(program);
  size_t bytecode = program.words().size_bytes();
  for (const vm::Follower& follower : launch.followers) {
    index.add(follower.program);
    bytecode += follower.program.words().size_bytes();
  }
  ProgramTiming result;
  const int32_t blocks = static_cast<int32_t>(program.header().block_dim);
  const int32_t group = launch.followers.empty() ? 1 : kGroupCores;
  result.cores.resize(static_cast<size_t>(blocks) * static_cast<size_t>(group));
  result.instructions.resize(index.all().size());
  const bool copied = static_cast<double>(bytecode) > timing.argument_bytes;
  result.begin = begin;
  result.launch = timing.launch_cycles + (copied ? timing.copy_cycles : 0);
  if (launch.stacked) result.launch = timing.barrier_cycles;
  const LaunchContext context{timing, index, result, events};
  std::vector<std::unique_ptr<CoreClock>> cores;
  std::vector<CrossFlags> flags(static_cast<size_t>(blocks));
  int64_t transfer_count = 0;
  const auto add_core = [&](int32_t id, int32_t place, Trace trace) {
    std::vector<Transfer> transfers(trace.reaches.size());
    transfer_count += static_cast<int64_t>(transfers.size());
    for (const TraceOp& op : trace.ops) {
      if (op.reach < 0) continue;
      const Reach& reach = trace.reaches[static_cast<size_t>(op.reach)];
      Transfer& transfer = transfers[static_cast<size_t>(op.reach)];
      transfer = transfer_of(reach, *index.all()[static_cast<size_t>(op.insn)],
                             launch.buffers[static_cast<size_t>(reach.global)], timing, cache);
      result.moved_bytes += transfer.bytes;
      result.hbm_bytes += transfer.hbm_bytes;
    }
    const double start = result.launch + (launch.stacked ? 0 : id * timing.core_cycles);
    cores.push_back(std::make_unique<CoreClock>(id * group + place, std::move(trace),
                                                std::move(transfers), start, context));
    cores.back()->join(flags[static_cast<size_t>(id)], place);
  };
  vm::Pace* const pace = vm::Pace::current();
  for (int32_t id = 0; id < blocks; ++id) {
    if (pace != nullptr) pace->at(vm::Pace::Work::operations, 0, blocks);
    if (launch.followers.empty()) {
      add_core(id, 0, trace_core(program, index, id));
      continue;
    }
    const std::vector<std::byte*> bases(launch.buffers.size(), nullptr);
    std::array<Trace, kGroupCores> traces = trace_group({.program = program,
                                                         .globals = bases,
                                                         .followers = launch.followers,
                                                         .handed = launch.handed},
                                                        index, id);
    for (int32_t place = 0; place < group; ++place) {
      add_core(id, place, std::move(traces[static_cast<size_t>(place)]));
    }
  }
  Chip chip(std::move(cores), group, transfer_count, timing);
  chip.run();
  result.end = begin + chip.end();
  std::stable_sort(result.events.begin(), result.events.end(),
                   [](const PipeEvent& a, const PipeEvent& b) { return a.core < b.core; });
  return result;
}

}  // namespace

std::vector<ProgramTiming> time_programs(std::span<const TimedLaunch> launches,
                                         const vm::CoreTiming& timing, bool events) {
  std::vector<ProgramTiming> results;
  SecondCache cache(timing);
  double end = 0, enqueued = 0;
  for (const TimedLaunch& launch : launches) {
    const double begin = launch.stacked ? end : std::max(end, enqueued);
    results.push_back(time_launch(launch, begin, timing, cache, events));
    end = results.back().end;
    if (!launch.stacked) enqueued += timing.enqueue_cycles;
  }
  return results;
}

}  // namespace dvm::sim
