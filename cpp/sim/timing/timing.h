// What the timing of simulated targets says: cycles of every core, pipe and instruction of a
// Program, and what each waited for. DVM paper, sections 4 to 6; parameters:
// vm/target/core_timing.def.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/timing/second_cache.h"
#include "vm/isa/program.h"
#include "vm/target/core_timing.h"
#include "vm/target/launch.h"

namespace dvm::sim {

// Why a pipe does nothing though its core has begun. The first kPipeCount: a flag of that pipe.
enum class Wait : uint8_t {
  decode = vm::kPipeCount,  // the scalar unit has not issued its next operation
  result,                   // what the operation reads is not yet written, by the pipe itself
  room,                     // of the scalar unit: a queue is full
  done,                     // it has nothing left to do
};
inline constexpr int kWaits = vm::kPipeCount + 4;

// Cycles. busy + waits are the time of the core.
struct PipeTimes {
  double busy = 0;
  std::array<double, kWaits> waits{};
  double slowed_by_l2 = 0, slowed_by_hbm = 0;  // of busy, that it lost to transfers of others
  int64_t operations = 0, bytes = 0;
};

struct CoreTimes {
  double begin = 0, end = 0;  // since the launch began
  std::array<PipeTimes, vm::kPipeCount> pipes{};
};

struct InstructionTimes {
  double busy = 0, waits = 0;  // of all cores; what its pipe waited before it
  int64_t count = 0, bytes = 0, repeats = 0;
};

// Something that a pipe did: an instruction, or waiting for a flag before it.
struct PipeEvent {
  int32_t core, insn;  // insn: index in the Program; -1: around the tiles
  vm::Pipe pipe;
  bool waits;
  int64_t tile;
  double begin, end, done;  // done: its results are there
};

// A flag: set by an instruction of one pipe, seen by one of another.
struct FlagEvent {
  int32_t core;
  vm::Pipe src, dst;
  uint8_t event;
  double set, seen;
  bool crosses = false;  // between cores: it was set by another one of the group
};

struct ProgramTiming {
  double begin = 0, end = 0;  // of the launch, in cycles since the first one was asked for
  double launch = 0;          // of these, before the first core began
  std::vector<CoreTimes> cores;
  std::vector<InstructionTimes> instructions;  // in the order of the code
  std::vector<PipeEvent> events;               // if asked for; by core, then in order of their end
  std::vector<FlagEvent> flags;
  int64_t moved_bytes = 0, hbm_bytes = 0;  // to and from the second cache; and global memory
};

// A Program, and which buffers its globals are: equal numbers are the same memory.
// stacked: it is part of the launch before it, whose cores go on with it when all have ended (DVM
// paper, section 5.1: temporal stacking). With followers the cores are those of its groups: the
// cube's, then the vector cores. Instructions are those of the Program, then of each follower.
struct TimedLaunch {
  vm::Program program;
  std::span<const int64_t> buffers;
  bool stacked = false;
  std::span<const vm::Follower> followers = {};
  vm::HandedOver handed = {};
};

// Programs one after another, each after the one before it has ended, on a device whose second
// cache is empty. Depends on nothing but its arguments.
std::vector<ProgramTiming> time_programs(std::span<const TimedLaunch> launches,
                                         const vm::CoreTiming& timing, bool events);

}  // namespace dvm::sim
