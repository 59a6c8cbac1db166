#include "runtime/execute/launcher.h"

#include <numeric>

#include "runtime/execute/workspaces.h"

namespace dvm::runtime {

bool HostPace::goes_on(Work work, int64_t done, int64_t total) {
  const core::KeepFpFlags keep;  // what the host does meanwhile is not what the Programs do
  const bool goes_on = outer_ == nullptr || outer_->goes_on(work, done, total);
  if (unlocked_) host_.lock();
  const bool may_go_on = host_.may_go_on();  // which hears of what the other one has ended, too
  if (unlocked_) host_.unlock();
  return goes_on && may_go_on;
}

// How much work they are.
int64_t Launcher::begin(vm::Memo::Encoded& encoded) {
  // Scalars are cast to the dtype of their instructions by encode(), which may overflow too.
  fp_flags_ |= encoded.raised;
  if (encoded.work == vm::Memo::kUntold) {
    encoded.work = 0;
    for (int k = 0; k < encoded.compiled.stage_count; ++k) {
      encoded.work += target_.work(encoded.compiled.stages[k]);
    }
  }
  return encoded.work;
}

Outcome Launcher::run(vm::Memo::Encoded& encoded, int globals) {
  const vm::Compiled& compiled = encoded.compiled;
  const int64_t work = begin(encoded);
  const bool held = is_held(work);
  const std::span sizes(compiled.workspace_bytes, static_cast<size_t>(compiled.workspace_count));
  bool fits = true;
  if (held && !sizes.empty()) {
    const int64_t bytes = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
    fits = state_.held.has_room(compiled.workspace_count, bytes);
    if (const Outcome outcome = fits ? Outcome::done : hand_over(); outcome != Outcome::done)
      return outcome;
  }
  const Workspaces workspaces(state_, sizes);
  if (workspaces.missing()) return Outcome::check_failed;
  for (std::byte* data : workspaces.data()) state_.globals[globals++] = data;
  const std::span operands(state_.globals, static_cast<size_t>(globals));
  if (!held) return run_now(compiled, operands, work);
  const Outcome outcome = hold(compiled, operands);
  // A call that is timed has a time for each of its Regions.
  const bool last = !fits || is_timed_;
  return last && outcome == Outcome::done ? hand_over_noted() : outcome;
}

Outcome Launcher::run(vm::Memo::Encoded& encoded, std::span<std::byte* const> operands,
                      bool hands_over) {
  const int64_t work = begin(encoded);
  const bool held = is_held(work);
  const Outcome outcome =
      held ? hold(encoded.compiled, operands) : run_now(encoded.compiled, operands, work);
  return hands_over && outcome == Outcome::done ? hand_over() : outcome;
}

Outcome Launcher::run_now(const vm::Compiled& compiled, std::span<std::byte* const> operands,
                          int64_t work) {
  return on_target(work >= kLongWork, [&] {
    return outcome_of(compiled.all_launches(operands, [&](const vm::Launch& launch) {
      return add(target_.run({&launch, 1}));
    }));
  });
}

Outcome Launcher::hold(const vm::Compiled& compiled, std::span<std::byte* const> operands) {
  Outcome outcome = Outcome::done;
  compiled.all_launches(operands, [&](vm::Launch& launch) {
    if (state_.held.is_full()) outcome = hand_over();
    if (outcome != Outcome::done) return false;
    launch.label = watch_ != nullptr ? watch_->label() : -1;
    int64_t work = target_.work(launch.program);
    for (const vm::Follower& follower : launch.followers) work += target_.work(follower.program);
    state_.held.add(launch, work);
    return true;
  });
  return outcome;
}

Outcome Launcher::run_held() {
  Held& held = state_.held;
  vm::RunStatus status;
  const Outcome outcome = on_target(held.work() >= kLongWork, [&] {
    status = target_.run(held.launches());
    return Outcome::done;
  });
  held.let_go(state_.blocks, host_);
  return outcome == Outcome::done ? outcome_of(add(status)) : outcome;
}

// False: elements were not what the program may do with them.
bool Launcher::add(const vm::RunStatus& status) {
  fp_flags_ |= status.flags;
  return status.fault == vm::Fault::none;
}

}  // namespace dvm::runtime
