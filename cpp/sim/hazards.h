// Whether the flags of a Program order what its pipes do to local memory. The pipes of an AI Core
// run asynchronously; here they run in program order, and this detector says where the hardware
// might not. Time is a vector clock per pipe: set() sends the clock of one pipe, wait() joins it
// into another's, and two accesses are ordered exactly if the later pipe has heard of the earlier.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "vm/isa/program.h"

namespace dvm::sim {

using vm::Pipe;

// A wait that a Program never answers would fill memory; the hardware's counters are small, too.
inline constexpr size_t kMaxPendingSets = 16;

class PipeClocks {
 public:
  int64_t tick(Pipe pipe) { return ++of(pipe, pipe); }  // the time of the pipe's next instruction
  bool has_heard(Pipe pipe, Pipe other, int64_t time) const {
    return clocks_[index(pipe)][index(other)] >= time;
  }
  bool set(const vm::Sync& flag);   // false: too many sets without a wait
  bool wait(const vm::Sync& flag);  // false: nothing has set the flag
  // A flag that was set but never waited for.
  std::optional<vm::Sync> unpaired() const;

 private:
  using Clock = std::array<int64_t, vm::kPipeCount>;
  static size_t index(Pipe pipe) { return static_cast<size_t>(pipe); }
  int64_t& of(Pipe pipe, Pipe other) { return clocks_[index(pipe)][index(other)]; }

  std::array<Clock, vm::kPipeCount> clocks_{};
  // First in, first out. Of few flags any are pending, so that a core begins without the heap.
  std::vector<Clock> pending_[vm::kPipeCount][vm::kPipeCount][vm::kEventIds];
};

struct Access {
  int64_t time = 0;  // 0: none
  Pipe pipe = Pipe::load;
  const vm::Instruction* insn = nullptr;
  int64_t tile = 0;
};

struct Hazard {
  Access earlier;  // time 0: the bytes were never written
  bool earlier_writes;
  int64_t begin, end;  // the local bytes in question
};

// Who last touched each byte of a local memory, as disjoint ranges.
class AccessHistory {
 public:
  std::optional<Hazard> read(int64_t begin, int64_t end, const Access& now, const PipeClocks&);
  std::optional<Hazard> write(int64_t begin, int64_t end, const Access& now, const PipeClocks&);

 private:
  struct Range {
    int64_t end;
    Access writer;
    Access readers[vm::kPipeCount];  // the last one per pipe, since the write
  };
  void split_at(int64_t byte);
  std::map<int64_t, Range> ranges_;  // by first byte
};

}  // namespace dvm::sim
