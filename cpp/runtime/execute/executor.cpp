// The loop over a Plan's instructions. Trusts verify(): registers and operands are not checked
// again; whatever depends on sizes is.
#include "runtime/execute/executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/error.h"
#include "core/ops/scalar_ops.h"
#include "runtime/execute/calls.h"
#include "runtime/execute/context.h"
#include "runtime/execute/frames.h"
#include "runtime/execute/launcher.h"
#include "runtime/execute/loop.h"
#include "runtime/execute/regions.h"
#include "runtime/execute/repetition.h"
#include "runtime/execute/size_math.h"
#include "runtime/whole/by_programs.h"
#include "runtime/whole/fold.h"
#include "runtime/whole/gather.h"
#include "runtime/whole/whole_ops.h"
#include "vm/target/watch.h"

namespace dvm::runtime {

namespace {

using State = ExecutionContext::State;

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t element_count(const BufferView& view) {
  int64_t count = 1;
  for (int d = 0; d < view.rank; ++d) count *= view.shape[d];
  return count;
}

class Execution {
 public:
  Execution(const Plan& plan, vm::Target& target, HostCalls& host,
            std::span<const core::Scalar> scalars, ExecutionContext& context)
      : executed_(plan),
        program_(context.program != nullptr ? *context.program : plan),
        target_(target),
        host_(host),
        context_(context),
        state_(context.state()),
        times_(context.times),
        frozen_(context.frozen != nullptr ? *context.frozen : frozen_memory()),
        watch_(vm::Watch::current()),
        launcher_(target, host, context),
        regions_(target, launcher_, frozen_, context),
        frames_(program_, launcher_, host, state_) {
    context.fp_flags = 0;
    state_.prepare(plan, scalars);
  }

  // Whatever ends the call, exceptions included, ends the life of its buffers.
  ~Execution() {
    state_.held.let_go(state_.blocks, host_);
    frames_.end();
    state_.blocks.stop_noting();
    state_.arena.give();
  }

  // By a record of an equal call, if there is one.
  Outcome run_again(std::span<const BufferView> inputs, std::span<BufferView> results) {
    if (watch_ != nullptr) [[unlikely]]
      return run_watched(inputs, results);
    // What an object holds is nothing that a key could say.
    const auto is_object = [](const BufferView& input) { return input.rank == kObjectRank; };
    if (std::ranges::any_of(inputs, is_object)) return run(inputs, results);
    const bool moves = state_.moves_with_trip;
    const int64_t trip = moves ? state_.given[0].as_int() : 0;
    const RecallKey key(state_.key_words, executed_, target_, frozen_, inputs,
                        state_.given.subspan(moves ? 1 : 0));
    if (!key.fits()) return run(inputs, results);
    if (const Recalled* const record = state_.recalls.find(key, state_.memo, trip)) {
      Repetition repetition(*record, executed_, host_, state_, inputs, trip);
      if (repetition.finds_packed(frozen_, target_)) {
        return repetition.run(launcher_, results, [&](const Instruction& instruction) {
          return step(instruction, executed_.pool.data() + instruction.operands, results);
        });
      }
    }
    state_.blocks.note();
    const Outcome outcome = run(inputs, results);
    if (outcome == Outcome::done) {
      state_.recalls.record(key, executed_, state_.buffers, state_.sizes, state_.notes,
                            state_.blocks.noted(), state_.memo, trip);
    }
    return outcome;
  }

  Outcome run(std::span<const BufferView> inputs, std::span<BufferView> results) {
    for (const BufferView& input : inputs) define(next_register(), input, {});
    frames_.define_constants();
    // The last instruction of a function or body goes on with its caller.
    while (state_.frame.next < state_.frame.plan->code.size()) {
      const Plan& plan = *state_.frame.plan;
      const size_t index = state_.frame.next++;
      const Instruction& instruction = plan.code[index];
      const int32_t* const operands = plan.pool.data() + instruction.operands;
      const Outcome outcome = watch_ != nullptr && computes(instruction.op)
                                  ? watched_step(static_cast<int32_t>(index), operands, results)
                                  : step(instruction, operands, results);
      if (outcome == Outcome::done) continue;
      if (state_.callers.empty()) state_.stopped_at = static_cast<int32_t>(index);
      return outcome;
    }
    return Outcome::done;
  }

 private:
  int64_t& size(int32_t i) { return state_.size(i); }
  BufferView& buffer(int32_t b) { return state_.buffer(b); }
  int32_t next_register() const { return static_cast<int32_t>(state_.frame.defined); }
  void own(int32_t b, Ownership ownership) { state_.own(b, ownership); }
  BufferView& define(int32_t b, const BufferView& view, Ownership ownership) {
    return state_.define(b, view, ownership);
  }

  Outcome run_watched(std::span<const BufferView> inputs, std::span<BufferView> results) {
    const int64_t begin = vm::Watch::now();
    const Outcome outcome = run(inputs, results);
    watch_->add(vm::Watch::What::plan, -1, begin);
    if (outcome == Outcome::done) {
      watch_->ended(&executed_,
                    std::span(state_.sizes).first(static_cast<size_t>(executed_.sizes)));
    }
    return outcome;
  }

  // Instructions that a watch is told of by themselves.
  static bool computes(PlanOp op) {
    return op == PlanOp::run || op == PlanOp::whole || op == PlanOp::fold || is_call(op) ||
           op == PlanOp::call_into;
  }

  Outcome watched_step(int32_t index, const int32_t* p, std::span<BufferView> results) {
    const Plan& plan = *state_.frame.plan;
    watch_->begin_step(&plan, index);
    const int64_t begin = vm::Watch::now();
    const Outcome outcome = step(plan.code[static_cast<size_t>(index)], p, results);
    watch_->add(vm::Watch::What::step, watch_->label(), begin);
    watch_->end_step();
    return outcome;
  }

  Outcome step(const Instruction& instruction, const int32_t* p, std::span<BufferView> results) {
    const int32_t result = instruction.result;
    switch (instruction.op) {
      case PlanOp::size:
        size(result) = buffer(p[0]).shape[p[1]];
        return Outcome::done;
      case PlanOp::number:
        size(result) = state_.scalar_argument(p[0]).as_int();
        return Outcome::done;
      case PlanOp::literal:
        size(result) = literal_of({p, 2});
        return Outcome::done;
      case PlanOp::add:
      case PlanOp::sub:
      case PlanOp::mul:
      case PlanOp::floordiv:
      case PlanOp::mod:
      case PlanOp::max:
      case PlanOp::min:
      case PlanOp::bcast:
        return outcome_of(apply(instruction.op, size(p[0]), size(p[1]), size(result)));
      case PlanOp::check:
        return outcome_of(holds(static_cast<core::DimCmp>(p[0]), size(p[1]), size(p[2])));
      case PlanOp::alloc:
      case PlanOp::host_alloc:
        return allocate(instruction, p);
      case PlanOp::transpose:
      case PlanOp::reshape:
      case PlanOp::slice:
        return view(instruction, p);
      case PlanOp::reshaped:
        return reshaped(instruction, p);
      case PlanOp::undefined:
        return Outcome::done;
      case PlanOp::run:
        return regions_.run(p);
      case PlanOp::whole:
        return whole(p);
      case PlanOp::fold:
        return fold(p);
      case PlanOp::call:
      case PlanOp::call_fresh:
        return call(instruction, call_host);
      case PlanOp::call_into:
        return call(instruction, call_host_into);
      case PlanOp::read:
        if (const Outcome outcome = launcher_.hand_over(); outcome != Outcome::done) return outcome;
        std::memcpy(&size(result), buffer(p[0]).data, sizeof(int64_t));
        return Outcome::done;
      case PlanOp::store:
        return store(buffer(p[0]), size(p[1]));
      case PlanOp::loop:
        if (const Outcome outcome = launcher_.hand_over(); outcome != Outcome::done) return outcome;
        return run_loop(executed_, program_, instruction, target_, host_, context_);
      case PlanOp::branch:
        if (const Outcome outcome = launcher_.hand_over(); outcome != Outcome::done) return outcome;
        return frames_.enter(frames_.body(p[is_true(buffer(p[2])) ? 0 : 1]), p + 3);
      case PlanOp::match:
        return frames_.match(p);
      case PlanOp::invoke:
        return frames_.enter(program_.functions[static_cast<size_t>(p[0])], p + 1);
      case PlanOp::construct:
        if (const Outcome outcome = launcher_.hand_over(); outcome != Outcome::done) return outcome;
        return frames_.construct(result, p);
      case PlanOp::leave:
        if (const Outcome outcome = launcher_.hand_over(); outcome != Outcome::done) return outcome;
        return is_true(buffer(p[0])) ? give(p + 1, results, Outcome::left) : Outcome::done;
      case PlanOp::free:
        return free(p[0]);
      case PlanOp::ret:
        if (!state_.callers.empty()) return frames_.give_to_caller(p);
        if (const Outcome outcome = launcher_.hand_over(); outcome != Outcome::done) return outcome;
        return give(p, results, Outcome::done);
    }
    __builtin_unreachable();
  }

  // The results, each with a reference.
  Outcome give(const int32_t* list, std::span<BufferView> results, Outcome outcome) {
    for (int32_t k = 0; k < list[0]; ++k) {
      results[static_cast<size_t>(k)] = buffer(list[1 + k]);
      host_.retain(buffer(list[1 + k]).owner);
    }
    return outcome;
  }

  // Programs that are held may have to do with the memory.
  Outcome store(const BufferView& to, int64_t value) {
    if (const Outcome outcome = launcher_.hand_over(); outcome != Outcome::done) return outcome;
    core::dispatch(to.dtype, [&]<core::DType D>() {
      using T = core::Storage<D>;
      const T element = core::scalar::cast<T>(value);
      std::memcpy(to.data, &element, sizeof(T));
    });
    return Outcome::done;
  }

  Outcome free(int32_t b) {
    const int64_t bytes = state_.owned(b).bytes;
    const Outcome outcome =
        state_.held.has_room(1, bytes) ? Outcome::done : launcher_.hand_over_noted();
    frames_.drop(b);
    return outcome;
  }

  // Made in the register itself: a view has room for as many axes as there may be.
  Outcome allocate(const Instruction& instruction, const int32_t* p) {
    BufferView& view = buffer(instruction.result);
    view.dtype = static_cast<core::DType>(p[0]);
    view.rank = p[1];
    for (int32_t d = 0; d < view.rank; ++d) view.shape[d] = size(p[2 + d]);
    int64_t bytes = 0;
    if (!make_dense(view, bytes)) return Outcome::check_failed;
    if (instruction.op == PlanOp::host_alloc) {
      if (!allocate_by_host(instruction.result)) return Outcome::host_error;
      own(instruction.result, {.kind = Ownership::Kind::host, .bytes = bytes});
      return Outcome::done;
    }
    // Too large for memory: the original program then meets the same end, in its own words.
    view.owner = nullptr;
    view.data = state_.blocks.take(bytes);
    if (!view.data) return Outcome::check_failed;
    own(instruction.result, {.kind = Ownership::Kind::temporary, .bytes = bytes});
    return Outcome::done;
  }

  // An array of the dtype and shape that the register has.
  bool allocate_by_host(int32_t reg) {
    BufferView& view = buffer(reg);
    int64_t shape[core::kMaxRank];
    std::copy_n(view.shape, view.rank, shape);
    if (!state_.callers.empty()) {
      return host_.allocate_within(view.dtype, {shape, static_cast<size_t>(view.rank)}, view);
    }
    return host_.allocate_for(reg, view.dtype, {shape, static_cast<size_t>(view.rank)}, view);
  }

  Outcome reshaped(const Instruction& instruction, const int32_t* p) {
    if (view(instruction, p) == Outcome::done) return Outcome::done;
    const BufferView from = buffer(p[0]);
    BufferView &to = buffer(instruction.result), dense = from;
    int64_t bytes = 0, needed = 0;
    if (!make_dense(to, needed) || !make_dense(dense, bytes) || bytes != needed) {
      return Outcome::check_failed;
    }
    if (const Outcome outcome = launcher_.hand_over(); outcome != Outcome::done) return outcome;
    state_.notes.is_plain = false;  // a record would have no copy
    if (!allocate_by_host(instruction.result)) return Outcome::host_error;
    own(instruction.result, {.kind = Ownership::Kind::host, .bytes = bytes});
    copy_dense(from, from.data, 0, to.data);
    return Outcome::done;
  }

  Outcome view(const Instruction& instruction, const int32_t* p) {
    const BufferView from = buffer(p[0]);
    BufferView& to = define(instruction.result, from, {});
    if (instruction.op == PlanOp::transpose) {
      for (int32_t d = 0; d < from.rank; ++d) {
        to.shape[d] = from.shape[p[2 + d]];
        to.strides[d] = from.strides[p[2 + d]];
      }
      return Outcome::done;
    }
    if (instruction.op != PlanOp::slice) {
      to.rank = p[1];
      for (int32_t d = 0; d < to.rank; ++d) to.shape[d] = size(p[2 + d]);
      return outcome_of(lay_over(from, to));
    }
    const int32_t rank = from.rank;
    const int32_t *starts = p + 2, *steps = starts + rank + 1, *sizes = steps + rank + 1;
    for (int32_t d = 0; d < rank; ++d) {
      if (!slice_axis(size(starts[d]), size(steps[d]), size(sizes[d]), d, to)) {
        return Outcome::check_failed;
      }
    }
    return Outcome::done;
  }

  Outcome whole(const int32_t* p) {
    const auto op = static_cast<core::Op>(*p++);
    return along(p, [&](auto operands, const BufferView& result, int axis) {
      return run_whole(op, operands, result, axis, target_);
    });
  }

  Outcome fold(const int32_t* p) {
    const auto op = static_cast<core::Op>(*p++), with = static_cast<core::Op>(*p++);
    return along(p, [&](auto operands, const BufferView& result, int axis) {
      if (core::replaces_elements(op)) {
        return run_scatter(op, with, *operands[0], *operands[1], result, axis);
      }
      return run_fold(op, with, operands, result, axis, target_);
    });
  }

  // Hands operands, result and axis, as they stand in an instruction, to what computes with them.
  template <typename F>
  Outcome along(const int32_t* p, F compute) {
    const BufferView* operands[3] = {};
    const auto count = static_cast<size_t>(*p++);
    int64_t elements = element_count(buffer(p[count]));
    for (size_t k = 0; k < count; ++k) {
      operands[k] = &buffer(*p++);
      elements += element_count(*operands[k]);
    }
    constexpr int64_t kLong = 1 << 14;  // some 20 us for most of them
    if (const Outcome outcome = launcher_.hand_over(); outcome != Outcome::done) return outcome;
    const core::WatchFpFlags watch;
    const Outcome outcome =
        launcher_.on_target(elements >= kLong || runs_programs(target_) != nullptr, [&] {
          const std::span<const BufferView* const> given(operands, count);
          return outcome_of(compute(given, buffer(p[0]), p[1]));
        });
    context_.fp_flags |= watch.raised();
    return outcome;
  }

  template <typename F>
  Outcome call(const Instruction& instruction, F host_function) {
    if (const Outcome outcome = launcher_.hand_over(); outcome != Outcome::done) return outcome;
    return host_function(executed_, instruction, host_, state_);
  }

  const Plan& executed_;
  const Plan& program_;  // whose functions and data types there are
  vm::Target& target_;
  HostCalls& host_;
  ExecutionContext& context_;
  State& state_;
  CallTimes* times_;
  FrozenMemory& frozen_;
  vm::Watch* const watch_;
  Launcher launcher_;
  Regions regions_;
  Frames frames_;
};

}  // namespace

Outcome execute(const Plan& plan, vm::Target& target, HostCalls& host,
                std::span<const BufferView> inputs, std::span<const core::Scalar> scalars,
                std::span<BufferView> results, ExecutionContext& context) {
  DVM_CHECK(inputs.size() == plan.inputs.size() && scalars.size() == plan.scalars.size(),
            "the arguments differ from the Plan's in number");
  DVM_CHECK(static_cast<int>(results.size()) == plan.result_count(),
            "the results differ from the Plan's in number");
  CallTimes* times = context.times;
  const int64_t begin = times ? now() - times->regions_total() : 0;
  Execution execution(plan, target, host, scalars, context);
  const Outcome outcome = times || !context.repeats ? execution.run(inputs, results)
                                                    : execution.run_again(inputs, results);
  if (times) times->plan += now() - times->regions_total() - begin;
  return outcome;
}

}  // namespace dvm::runtime
