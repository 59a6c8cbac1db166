// Runs a call by the record of an equal one (execute/recall.h).
#pragma once

#include <span>

#include "runtime/execute/context.h"
#include "runtime/execute/launcher.h"
#include "runtime/memory/frozen_memory.h"

namespace dvm::runtime {

class Repetition {
 public:
  Repetition(const Recalled& record, const Plan& plan, HostCalls& host,
             ExecutionContext::State& state, std::span<const BufferView> inputs, int64_t trip);

  // What the recorded call read in packed copies is read so this time, too. Else the Plan is run as
  // it is written.
  bool finds_packed(FrozenMemory& frozen, const vm::Target& target);

  // `step` runs an instruction whose operands are in their registers.
  template <typename Step>
  Outcome run(Launcher& launcher, std::span<BufferView> results, Step step) {
    if (!take_block()) return Outcome::check_failed;
    const Recalled::Encoding* encoding = record_.encodings.data();
    for (const Recalled::Step& recorded : record_.steps) {
      const Outcome outcome = recorded.kind == Recalled::Kind::run
                                  ? run_programs(launcher, recorded, *encoding++->encoded)
                              : recorded.kind == Recalled::Kind::make
                                  ? make(recorded)
                                  : step(read_operands(recorded));
      if (outcome != Outcome::done) return outcome;
    }
    const Outcome outcome = launcher.hand_over();
    if (outcome == Outcome::done) give(results);
    return outcome;
  }

 private:
  using Root = ExecutionContext::State::Root;
  const Root& root(const Recalled::Place& place) const {
    return state_.roots[static_cast<size_t>(place.root)];
  }
  std::byte* at(const Recalled::Place& place) const {
    return root(place).data + place.offset + place.per_trip * trips_;
  }
  // A view as it was recorded has its memory of this call, and the owner of that.
  void lay(BufferView& view, const Recalled::Place& place) const {
    view.data = at(place);
    view.owner = root(place).owner;
  }
  const Instruction& instruction(const Recalled::Step& step) const {
    return plan_.code[static_cast<size_t>(step.instruction)];
  }
  bool take_block();
  Outcome run_programs(Launcher& launcher, const Recalled::Step& step, vm::Memo::Encoded& encoded);
  Outcome make(const Recalled::Step& step);
  const Instruction& read_operands(const Recalled::Step& step);
  void give(std::span<BufferView> results);

  const Recalled& record_;
  const Plan& plan_;
  HostCalls& host_;
  ExecutionContext::State& state_;
  const int64_t trips_;  // since the one that was recorded
};

}  // namespace dvm::runtime
