// Runs the Programs of one call: each at once, or several as one list (execute/held.h).
#pragma once

#include <cstddef>
#include <span>

#include "runtime/execute/context.h"
#include "vm/target/pace.h"
#include "vm/target/watch.h"

namespace dvm::runtime {

inline Outcome outcome_of(bool holds) { return holds ? Outcome::done : Outcome::check_failed; }

// While a simulation runs the host is asked now and then whether to go on, and so is who set a Pace
// before.
class HostPace final : public vm::Pace {
 public:
  HostPace(HostCalls& host, bool unlocked)
      : host_(host), unlocked_(unlocked), outer_(current()), scope_(*this) {}

  bool goes_on(Work work, int64_t done, int64_t total) override;

 private:
  HostCalls& host_;
  const bool unlocked_;
  Pace* const outer_;
  const Scope scope_;
};

class Launcher {
 public:
  Launcher(vm::Target& target, HostCalls& host, ExecutionContext& context)
      : target_(target),
        host_(host),
        state_(context.state()),
        watch_(vm::Watch::current()),
        is_timed_(context.times != nullptr),
        fp_flags_(context.fp_flags) {}

  // The Programs of a Region, whose operands are the first globals of the State; the memory that
  // they need besides is taken here.
  Outcome run(vm::Memo::Encoded& encoded, int globals);
  // Those whose operands have all the memory that they need. `hands_over`: what is held goes then.
  Outcome run(vm::Memo::Encoded& encoded, std::span<std::byte* const> operands, bool hands_over);

  // Runs what is held.
  Outcome hand_over() { return state_.held.empty() ? Outcome::done : run_held(); }
  // The same for the sake of memory, which a recorded call has no other way to know of.
  Outcome hand_over_noted() {
    state_.notes.handed_over.push_back(state_.notes.encodings.size());
    return hand_over();
  }

  // Calls run(), which runs Programs, and lets other threads of the host go on meanwhile. Those of
  // simulated targets may take as long as a user has no patience for.
  template <typename F>
  Outcome on_target(bool unlocks, F run) {
    const Unlocked unlocked(host_, unlocks);
    if (!target_.traits().flags) return run();
    const HostPace pace(host_, unlocks);
    try {
      return run();
    } catch (const vm::Pace::Stopped&) {
      return Outcome::host_error;
    }
  }

 private:
  int64_t begin(vm::Memo::Encoded& encoded);
  bool is_held(int64_t work) const {
    return !state_.held.empty() || (work >= kLeastHeldWork && target_.side_by_side());
  }
  Outcome run_now(const vm::Compiled& compiled, std::span<std::byte* const> operands, int64_t work);
  Outcome hold(const vm::Compiled& compiled, std::span<std::byte* const> operands);
  Outcome run_held();
  bool add(const vm::RunStatus& status);

  vm::Target& target_;
  HostCalls& host_;
  ExecutionContext::State& state_;
  vm::Watch* const watch_;
  const bool is_timed_;
  core::FpFlags& fp_flags_;
};

}  // namespace dvm::runtime
