// One simulated AI Core: its local memory, its flags, and every check on what a Program does to
// them. Instructions execute in program order; the checks are what make that order legitimate.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "sim/hazards.h"
#include "sim/timing/trace.h"
#include "sim/written.h"
#include "vm/run/interpreter.h"
#include "vm/target/pace.h"
#include "vm/target/target.h"

namespace dvm::sim {

struct CoreReport {
  int64_t tiles = 0;
  std::array<int64_t, vm::kInsnCount> instructions{};  // executed, by Insn
};

// How far a list of launches is, for who wants to hear of it on this thread.
class TilesDone {
 public:
  explicit TilesDone(int64_t total) : pace_(vm::Pace::current()), total_(total) {}
  void count(bool begins_tile) {
    done_ += begins_tile;
    if (pace_ != nullptr) pace_->at(vm::Pace::Work::tiles, done_, total_);
  }

 private:
  vm::Pace* const pace_;
  int64_t done_ = 0, total_;
};

// What the cores of a launch have in common. `program`: 0 for the leader, then the followers.
struct CommonRun {
  TilesDone& done;
  WrittenElements& written;
  size_t program = 0;
};

// The memories of a core, one behind the other.
class LocalMemories {
 public:
  LocalMemories(std::byte* memory, const vm::TargetTraits& traits) {
    for (size_t space = 0; space < vm::kSpaceCount; ++space) {
      begin_[space] = memory;
      memory += padded(traits, space);
    }
  }
  static int64_t bytes(const vm::TargetTraits& traits) {
    int64_t sum = 0;
    for (size_t space = 0; space < vm::kSpaceCount; ++space) sum += padded(traits, space);
    return sum;
  }
  std::byte* at(vm::Space space) const { return begin_[static_cast<size_t>(space)]; }

 private:
  // Each begins at a multiple of 64, where vectors of the host lie well.
  static int64_t padded(const vm::TargetTraits& traits, size_t space) {
    return (traits.memory(static_cast<vm::Space>(space)).bytes + 63) / 64 * 64;
  }
  std::byte* begin_[vm::kSpaceCount];
};

class AiCore {
 public:
  static constexpr bool kFlags = true;
  // `memory`: LocalMemories::bytes(traits) bytes. What an earlier core left there cannot be read: a
  // byte that this core has not written is a fault. The tracer, if any, is told what it does.
  AiCore(int64_t id, const vm::Program& program, const vm::TargetTraits& traits,
         std::span<std::byte* const> globals, std::byte* memory, CoreReport& report,
         const CommonRun& common, Tracer* tracer = nullptr)
      : id_(id),
        program_(program),
        traits_(traits),
        globals_(globals),
        memory_(memory, traits),
        report_(report),
        common_(common),
        tracer_(tracer) {}

  // The Core interface of vm/run/interpreter.h. All throw SimulationError.
  std::byte* local(vm::Space space, uint32_t offset) const { return memory_.at(space) + offset; }
  void begin(const vm::Header& header);
  void end(const vm::Header& header);
  void wait(const vm::Instruction& insn, const vm::Sync& flag, const vm::Tile& tile);
  void set(const vm::Instruction& insn, const vm::Sync& flag, const vm::Tile& tile);
  void execute(const vm::Instruction& insn, const vm::TileArgs& args, const vm::Tile& tile);
  void execute_chain(const vm::ChainArgs& args, const vm::Tile& tile);

  // What its operations raised besides the status flags of the thread.
  core::FpFlags more_flags() const { return more_flags_; }

  vm::Fault fault = vm::Fault::none;  // that a kernel found
  static std::byte* scratch() { return nullptr; }

 private:
  void run_kernel(const vm::Instruction& insn, const vm::TileArgs& args);
  // The operands before an instruction executes; address(k) is that of a stream operand k.
  template <typename Address>
  void check_operands(const vm::Instruction& insn, const vm::ViewDim* dims, Address address,
                      const vm::Tile& tile);
  void count(const vm::Instruction& insn, const vm::Tile& tile);
  void check_slot(const vm::Instruction& insn, int operand, const vm::Tile& tile,
                  const Access& now);
  void check_stream(const vm::Instruction& insn, int operand, const std::byte* address,
                    const vm::ViewDim* dims, const vm::Tile& tile);
  // The elements that it has to do with have no other tile that writes them.
  void check_alone(const vm::Instruction& insn, int operand, int64_t begin, const vm::ViewDim* dims,
                   const vm::Tile& tile);
  std::string describe(const vm::Instruction& insn) const;  // "instruction 2 (add)"
  [[noreturn]] void stop(const vm::Instruction& insn, const vm::Tile& tile,
                         const std::string& message) const;
  [[noreturn]] void stop(const std::string& message) const;

  int64_t id_;
  const vm::Program& program_;
  const vm::TargetTraits& traits_;
  std::span<std::byte* const> globals_;
  LocalMemories memory_;
  CoreReport& report_;
  const CommonRun common_;
  Tracer* tracer_;
  PipeClocks clocks_;
  AccessHistory history_[vm::kSpaceCount];
  int64_t last_tile_ = -1;
  core::FpFlags more_flags_ = 0;
};

}  // namespace dvm::sim
