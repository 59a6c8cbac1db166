#include "runtime/execute/regions.h"

#include <algorithm>

#include "runtime/execute/frozen_factors.h"
#include "runtime/execute/size_math.h"
#include "runtime/execute/workspaces.h"

namespace dvm::runtime {

void Regions::describe(const vm::Kernel& kernel, const vm::Binding& binding, int globals) {
  watch_->describe([&](vm::Watch::Step& step) {
    step.dims.assign(binding.dims, binding.dims + kernel.dims.size());
    step.scalars.assign(binding.scalars, binding.scalars + kernel.scalar_count);
    for (int k = 0; k < globals; ++k) {
      std::copy_n(binding.strides[k], core::kMaxRank, step.strides.emplace_back().begin());
    }
  });
}

// Strides are aligned to the Region's rank from the right, as NumPy aligns shapes.
void Regions::bind_global(int global, const BufferView& view, int rank) {
  int64_t* strides = state_.strides[global];
  const int lead = rank - view.rank;
  for (int d = 0; d < lead; ++d) strides[d] = 0;
  for (int d = 0; d < view.rank; ++d) strides[lead + d] = view.strides[d];
  state_.globals[global] = view.data;
}

// Binds one list of a run's operands, from `global` on; returns the list behind it.
const int32_t* Regions::bind_list(const int32_t* p, int rank, int& global) {
  for (int32_t count = *p++; count > 0; --count) bind_global(global++, state_.buffer(*p++), rank);
  return p;
}

// Whether the Kernel counts by the sizes that its operands have, and sizes that meet are equal.
// `lists`: of inputs and outputs.
bool Regions::fits(const PlanRegion& region, const int32_t* lists, const int64_t* dims) {
  const vm::Kernel& kernel = region.kernel;
  const auto* shape = region.operands.data();
  const auto size_of = [dims](uint8_t index) { return index == vm::kUnit ? 1 : dims[index]; };
  for (int list = 0; list < 2; ++list) {
    for (int32_t count = *lists++; count > 0; --count, ++shape) {
      const BufferView& view = state_.buffer(*lists++);
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

Outcome Regions::run(const int32_t* p) {
  const int32_t index = *p++;
  const PlanRegion& region = state_.frame.plan->regions[static_cast<size_t>(index)];
  const vm::Kernel& kernel = region.kernel;
  const int32_t* const inputs = p;
  int globals = 0;
  p = bind_list(p, kernel.rank, globals);
  p = bind_list(p, kernel.rank, globals);
  int64_t dims[vm::kUnit];
  for (int32_t count = *p++, k = 0; k < count; ++k) dims[k] = state_.size(*p++);
  if (!fits(region, inputs, dims)) return Outcome::check_failed;
  for (int32_t count = *p++, k = 0; k < count; ++k) {
    state_.scalars[k] = state_.scalar_argument(*p++);
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
  if (state_.callers.empty()) state_.notes.encodings.push_back({&encoded, encoded.stamp});
  if (!bind_packed(encoded.compiled, factor)) return Outcome::check_failed;
  const Outcome outcome = launcher_.run(encoded, globals);
  if (outcome != Outcome::done || !is_empty(kernel, dims)) return outcome;
  state_.notes.is_plain = false;
  return run_left_out(left_out(region, dims), inputs);
}

// The right matrix of the Region's product, if it is frozen.
FrozenMemory::Factor Regions::frozen_factor(const vm::Kernel& kernel, const int32_t* inputs) {
  const int b = frozen_.is_empty() ? -1 : right_operand(kernel);
  if (b < 0) return {};
  return find_factor(frozen_, kernel, state_.buffer(inputs[1 + b]), target_);
}

// False: there is no memory for the packed copy that Programs read.
bool Regions::bind_packed(const vm::Compiled& compiled, const FrozenMemory::Factor& factor) {
  if (compiled.packed < 0) return true;
  const std::byte* const packed = frozen_.packed(factor, target_);
  // Operands that are read and those that are written are in one list.
  state_.globals[compiled.packed] = const_cast<std::byte*>(packed);
  return packed != nullptr;
}

// For the status flags alone; the results go nowhere.
Outcome Regions::run_left_out(const std::vector<LeftOut>& values, const int32_t* inputs) {
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
Outcome Regions::run_timed(const vm::Kernel& kernel, const vm::Binding& binding, int globals,
                           const FrozenMemory::Factor& factor) {
  vm::PhaseTimes phases;
  auto& encoded = state_.memo.encode_anew(kernel, binding, target_.traits(), phases);
  const int64_t begin = vm::Watch::now();
  if (!bind_packed(encoded.compiled, factor)) return Outcome::check_failed;
  const Outcome outcome = launcher_.run(encoded, globals);
  times_->bind += phases.bind;
  times_->tile += phases.tile;
  times_->encode += phases.emit;
  times_->run += vm::Watch::now() - begin;
  ++times_->regions;
  return outcome;
}

}  // namespace dvm::runtime
