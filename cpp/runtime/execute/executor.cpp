// The loop over a Plan's instructions. Trusts verify(): registers and operands are not checked
// again; whatever depends on sizes is.
#include "runtime/execute/executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/error.h"
#include "core/ops/scalar_ops.h"
#include "runtime/execute/bodies.h"
#include "runtime/execute/calls.h"
#include "runtime/execute/context.h"
#include "runtime/execute/frozen_factors.h"
#include "runtime/execute/launcher.h"
#include "runtime/execute/left_out.h"
#include "runtime/execute/repetition.h"
#include "runtime/execute/size_math.h"
#include "runtime/execute/workspaces.h"
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
      : plan_(plan),
        target_(target),
        host_(host),
        scalars_(scalars),
        context_(context),
        state_(context.state()),
        times_(context.times),
        frozen_(context.frozen != nullptr ? *context.frozen : frozen_memory()),
        watch_(vm::Watch::current()),
        launcher_(target, host, context) {
    context.fp_flags = 0;
    state_.prepare(plan);
  }

  // Whatever ends the call, exceptions included, ends the life of its buffers.
  ~Execution() {
    state_.held.let_go(state_.blocks, host_);
    for (int32_t b = 0; b < state_.defined; ++b) drop(b);
    state_.blocks.stop_noting();
    state_.arena.give();
  }

  // By a record of an equal call, if there is one.
  Outcome run_again(std::span<const BufferView> inputs, std::span<BufferView> results) {
    if (watch_ != nullptr) [[unlikely]]
      return run_watched(inputs, results);
    const RecallKey key(state_.key_words, plan_, target_, frozen_, inputs, scalars_);
    if (!key.fits()) return run(inputs, results);
    if (const Recalled* const record = state_.recalls.find(key, state_.memo)) {
      Repetition repetition(*record, plan_, host_, state_, inputs);
      if (repetition.finds_packed(frozen_, target_)) {
        return repetition.run(launcher_, results, [&](const Instruction& instruction) {
          return step(instruction, plan_.pool.data() + instruction.operands, results);
        });
      }
    }
    state_.blocks.note();
    const Outcome outcome = run(inputs, results);
    if (outcome == Outcome::done) {
      state_.recalls.record(key, plan_, state_.buffers, state_.sizes, state_.notes,
                            state_.blocks.noted(), state_.memo);
    }
    return outcome;
  }

  Outcome run(std::span<const BufferView> inputs, std::span<BufferView> results) {
    for (const BufferView& input : inputs) define(state_.defined, input, {});
    for (const PlanConstant& constant : plan_.constants) {
      DVM_CHECK(constant.values, "nobody supplied the constant " + constant.name);
      define(state_.defined, constant.view, {});
    }
    for (const Instruction& instruction : plan_.code) {
      const auto index = static_cast<int32_t>(&instruction - plan_.code.data());
      const int32_t* const operands = plan_.pool.data() + instruction.operands;
      const Outcome outcome = watch_ != nullptr && computes(instruction.op)
                                  ? watched_step(index, operands, results)
                                  : step(instruction, operands, results);
      if (outcome == Outcome::done) continue;
      state_.stopped_at = index;
      return outcome;
    }
    return Outcome::done;
  }

 private:
  int64_t& size(int32_t i) { return state_.sizes[static_cast<size_t>(i)]; }
  BufferView& buffer(int32_t b) { return state_.buffers[static_cast<size_t>(b)]; }

  void own(int32_t b, Ownership ownership) { state_.own(b, ownership); }
  BufferView& define(int32_t b, const BufferView& view, Ownership ownership) {
    return state_.define(b, view, ownership);
  }

  // While Programs are held they have room for its memory.
  void drop(int32_t b) {
    Ownership& ownership = state_.ownership[static_cast<size_t>(b)];
    if (ownership.kind == Ownership::Kind::host) {
      if (state_.held.empty()) {
        host_.release(buffer(b).owner);
      } else {
        state_.held.keep(buffer(b).owner, ownership.bytes);
      }
    }
    if (ownership.kind == Ownership::Kind::temporary) state_.give(buffer(b).data, ownership.bytes);
    ownership = {};
  }

  Outcome run_watched(std::span<const BufferView> inputs, std::span<BufferView> results) {
    const int64_t begin = vm::Watch::now();
    const Outcome outcome = run(inputs, results);
    watch_->add(vm::Watch::What::plan, -1, begin);
    if (outcome == Outcome::done) {
      watch_->ended(&plan_, std::span(state_.sizes).first(static_cast<size_t>(plan_.sizes)));
    }
    return outcome;
  }

  // Instructions that a watch is told of by themselves.
  static bool computes(PlanOp op) {
    return op == PlanOp::run || op == PlanOp::whole || op == PlanOp::fold || is_call(op) ||
           op == PlanOp::call_into;
  }

  Outcome watched_step(int32_t index, const int32_t* p, std::span<BufferView> results) {
    watch_->begin_step(&plan_, index);
    const int64_t begin = vm::Watch::now();
    const Outcome outcome = step(plan_.code[static_cast<size_t>(index)], p, results);
    watch_->add(vm::Watch::What::step, watch_->label(), begin);
    watch_->end_step();
    return outcome;
  }

  void describe(const vm::Kernel& kernel, const vm::Binding& binding, int globals) {
    watch_->describe([&](vm::Watch::Step& step) {
      step.dims.assign(binding.dims, binding.dims + kernel.dims.size());
      step.scalars.assign(binding.scalars, binding.scalars + kernel.scalar_count);
      for (int k = 0; k < globals; ++k) {
        std::copy_n(binding.strides[k], core::kMaxRank, step.strides.emplace_back().begin());
      }
    });
  }

  Outcome step(const Instruction& instruction, const int32_t* p, std::span<BufferView> results) {
    const int32_t result = instruction.result;
    switch (instruction.op) {
      case PlanOp::size:
        size(result) = buffer(p[0]).shape[p[1]];
        return Outcome::done;
      case PlanOp::number:
        size(result) = scalars_[static_cast<size_t>(p[0])].as_int();
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
      case PlanOp::undefined:
        return Outcome::done;
      case PlanOp::run:
        return run_region(p);
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
        return run_bodies(instruction, run_loop);
      case PlanOp::branch:
        return run_bodies(instruction, run_branch);
      case PlanOp::leave:
        if (const Outcome outcome = launcher_.hand_over(); outcome != Outcome::done) return outcome;
        return is_true(buffer(p[0])) ? give(p + 1, results, Outcome::left) : Outcome::done;
      case PlanOp::free:
        return free(p[0]);
      case PlanOp::ret:
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

  template <typename F>
  Outcome run_bodies(const Instruction& instruction, F run_instruction) {
    if (const Outcome outcome = launcher_.hand_over(); outcome != Outcome::done) return outcome;
    return run_instruction(plan_, instruction, target_, host_, context_);
  }

  Outcome free(int32_t b) {
    const int64_t bytes = state_.ownership[static_cast<size_t>(b)].bytes;
    const Outcome outcome =
        state_.held.has_room(1, bytes) ? Outcome::done : launcher_.hand_over_noted();
    drop(b);
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
    return host_.allocate_for(reg, view.dtype, {shape, static_cast<size_t>(view.rank)}, view);
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
    if (instruction.op == PlanOp::reshape) {
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

  // Strides are aligned to the Region's rank from the right, as NumPy aligns shapes.
  void bind_global(int global, const BufferView& view, int rank) {
    int64_t* strides = state_.strides[global];
    const int lead = rank - view.rank;
    for (int d = 0; d < lead; ++d) strides[d] = 0;
    for (int d = 0; d < view.rank; ++d) strides[lead + d] = view.strides[d];
    state_.globals[global] = view.data;
  }

  // Binds one list of a run's operands, from `global` on; returns the list behind it.
  const int32_t* bind_list(const int32_t* p, int rank, int& global) {
    for (int32_t count = *p++; count > 0; --count) bind_global(global++, buffer(*p++), rank);
    return p;
  }

  // Whether the Kernel counts by the sizes that its operands have, and sizes that meet are equal.
  // `lists`: of inputs and outputs.
  bool fits(const PlanRegion& region, const int32_t* lists, const int64_t* dims) {
    const vm::Kernel& kernel = region.kernel;
    const auto* shape = region.operands.data();
    const auto size_of = [dims](uint8_t index) { return index == vm::kUnit ? 1 : dims[index]; };
    for (int list = 0; list < 2; ++list) {
      for (int32_t count = *lists++; count > 0; --count, ++shape) {
        const BufferView& view = buffer(*lists++);
        if (!*shape) continue;
        const uint8_t* const sizes = (*shape)->data() + kernel.rank - view.rank;
        for (int32_t d = 0; d < view.rank; ++d) {
          if (view.shape[d] != size_of(sizes[d])) return false;
        }
      }
    }
    for (int d = 0; d < kernel.rank; ++d) {
      int64_t met = 1;
      for (const vm::KernelShape& of : kernel.shapes) {
        const int64_t size = size_of(of[static_cast<size_t>(d)]);
        if (size < 0 || (size != 1 && met != 1 && size != met)) return false;
        if (size != 1) met = size;
      }
    }
    return true;
  }

  Outcome run_region(const int32_t* p) {
    const int32_t index = *p++;
    const PlanRegion& region = plan_.regions[static_cast<size_t>(index)];
    const vm::Kernel& kernel = region.kernel;
    const int32_t* const inputs = p;
    int globals = 0;
    p = bind_list(p, kernel.rank, globals);
    p = bind_list(p, kernel.rank, globals);
    int64_t dims[vm::kUnit];
    for (int32_t count = *p++, k = 0; k < count; ++k) dims[k] = size(*p++);
    if (!fits(region, inputs, dims)) return Outcome::check_failed;
    for (int32_t count = *p++, k = 0; k < count; ++k) {
      state_.scalars[k] = scalars_[static_cast<size_t>(*p++)];
    }
    const FrozenMemory::Factor factor = frozen_factor(kernel, inputs);
    const vm::Binding binding{dims, state_.scalars, state_.strides,
                              factor ? target_.packed_column(factor.matrix()) : 0};
    if (times_) return run_timed(kernel, binding, globals, factor);
    if (state_.memo.starts_over()) {
      if (const Outcome outcome = launcher_.hand_over(); outcome != Outcome::done) return outcome;
    }
    const int64_t begin = watch_ != nullptr ? vm::Watch::now() : 0;
    vm::Memo::Encoded& encoded = state_.memo.encode(kernel, binding, target_.traits());
    if (watch_ != nullptr) [[unlikely]] {
      watch_->add(vm::Watch::What::encode, watch_->label(), begin);
      watch_->is_region(index);
      describe(kernel, binding, globals);
    }
    state_.notes.encodings.push_back({&encoded, encoded.stamp});
    if (!bind_packed(encoded.compiled, factor)) return Outcome::check_failed;
    const Outcome outcome = launcher_.run(encoded, globals);
    if (outcome != Outcome::done || !is_empty(kernel, dims)) return outcome;
    state_.notes.is_plain = false;
    return run_left_out(left_out(region, dims), inputs);
  }

  // The right matrix of the Region's product, if it is frozen.
  FrozenMemory::Factor frozen_factor(const vm::Kernel& kernel, const int32_t* inputs) {
    const int b = frozen_.is_empty() ? -1 : right_operand(kernel);
    if (b < 0) return {};
    return find_factor(frozen_, kernel, buffer(inputs[1 + b]), target_);
  }

  // False: there is no memory for the packed copy that Programs read.
  bool bind_packed(const vm::Compiled& compiled, const FrozenMemory::Factor& factor) {
    if (compiled.packed < 0) return true;
    const std::byte* const packed = frozen_.packed(factor, target_);
    // Operands that are read and those that are written are in one list.
    state_.globals[compiled.packed] = const_cast<std::byte*>(packed);
    return packed != nullptr;
  }

  // For the status flags alone; the results go nowhere.
  Outcome run_left_out(const std::vector<LeftOut>& values, const int32_t* inputs) {
    for (const LeftOut& value : values) {
      if (const Outcome outcome = launcher_.hand_over(); outcome != Outcome::done) return outcome;
      int globals = 0;
      bind_list(inputs, value.kernel.rank, globals);
      BufferView result{.dtype = value.dtype, .rank = static_cast<int32_t>(value.shape.size())};
      std::copy(value.shape.begin(), value.shape.end(), result.shape);
      int64_t bytes = 0;
      if (!make_dense(result, bytes)) return Outcome::check_failed;
      const Workspaces memory(state_, {&bytes, 1});
      if (memory.missing()) return Outcome::check_failed;
      result.data = memory.data()[0];
      bind_global(globals++, result, value.kernel.rank);
      const vm::Binding binding{value.dims.data(), state_.scalars, state_.strides};
      Outcome outcome =
          launcher_.run(state_.memo.encode(value.kernel, binding, target_.traits()), globals);
      if (outcome == Outcome::done) outcome = launcher_.hand_over();
      if (outcome != Outcome::done) return outcome;
    }
    return Outcome::done;
  }

  // Tells what a call of new sizes takes, whether these are new or not.
  Outcome run_timed(const vm::Kernel& kernel, const vm::Binding& binding, int globals,
                    const FrozenMemory::Factor& factor) {
    vm::PhaseTimes phases;
    auto& encoded = state_.memo.encode_anew(kernel, binding, target_.traits(), phases);
    const int64_t begin = now();
    if (!bind_packed(encoded.compiled, factor)) return Outcome::check_failed;
    const Outcome outcome = launcher_.run(encoded, globals);
    times_->bind += phases.bind;
    times_->tile += phases.tile;
    times_->encode += phases.emit;
    times_->run += now() - begin;
    ++times_->regions;
    return outcome;
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
    return host_function(plan_, instruction, host_, scalars_, state_);
  }

  const Plan& plan_;
  vm::Target& target_;
  HostCalls& host_;
  std::span<const core::Scalar> scalars_;
  ExecutionContext& context_;
  State& state_;
  CallTimes* times_;
  FrozenMemory& frozen_;
  vm::Watch* const watch_;
  Launcher launcher_;
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
