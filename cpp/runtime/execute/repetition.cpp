#include "runtime/execute/repetition.h"

#include <algorithm>

#include "runtime/execute/frozen_factors.h"

namespace dvm::runtime {

Repetition::Repetition(const Recalled& record, const Plan& plan, HostCalls& host,
                       ExecutionContext::State& state, std::span<const BufferView> inputs,
                       int64_t trip)
    : record_(record), plan_(plan), host_(host), state_(state), trips_(trip - record.trip) {
  state_.roots.clear();
  for (const BufferView& input : inputs) state_.roots.push_back({input.data, input.owner});
  for (const PlanConstant& constant : plan.constants) {
    state_.roots.push_back({constant.view.data, constant.view.owner});
  }
}

bool Repetition::finds_packed(FrozenMemory& frozen, const vm::Target& target) {
  state_.packed.clear();
  return std::ranges::all_of(record_.packed, [&](const Recalled::Packed& packed) {
    BufferView operand = packed.matrix.view;
    operand.data = at(packed.matrix.place);
    const vm::Kernel& kernel = plan_.regions[static_cast<size_t>(packed.region)].kernel;
    const FrozenMemory::Factor factor = find_factor(frozen, kernel, operand, target);
    const std::byte* const copy = factor ? frozen.packed(factor, target) : nullptr;
    // Operands that are read and those that are written are in one list.
    state_.packed.push_back(const_cast<std::byte*>(copy));
    return copy != nullptr;
  });
}

bool Repetition::take_block() {
  const int64_t bytes = record_.block_bytes;
  std::byte* const block = bytes > 0 ? state_.arena.take(bytes) : nullptr;
  state_.roots.push_back({block, nullptr});
  return bytes == 0 || block != nullptr;
}

Outcome Repetition::run_programs(Launcher& launcher, const Recalled::Step& step,
                                 vm::Memo::Encoded& encoded) {
  const auto count = static_cast<size_t>(step.count);
  const Recalled::Place* const places = record_.places.data() + step.first;
  for (size_t k = 0; k < count; ++k) state_.globals[k] = at(places[k]);
  if (step.packed >= 0) {
    state_.globals[encoded.compiled.packed] = state_.packed[static_cast<size_t>(step.packed)];
  }
  return launcher.run(encoded, {state_.globals, count}, step.hands_over);
}

Outcome Repetition::make(const Recalled::Step& step) {
  const int32_t reg = instruction(step).result;
  const BufferView& made = record_.views[static_cast<size_t>(step.first)].view;
  const std::span shape(made.shape, static_cast<size_t>(made.rank));
  BufferView& view = state_.buffer(reg);
  if (!host_.allocate_for(reg, made.dtype, shape, view)) return Outcome::host_error;
  state_.roots.push_back({view.data, view.owner});
  state_.own(reg, {.kind = Ownership::Kind::host, .bytes = step.size});
  return Outcome::done;
}

const Instruction& Repetition::read_operands(const Recalled::Step& step) {
  const auto first = static_cast<size_t>(step.first);
  for (size_t k = first; k < first + static_cast<size_t>(step.count); ++k) {
    BufferView& view = state_.buffer(record_.registers[k]);
    view = record_.views[k].view;
    lay(view, record_.views[k].place);
  }
  const Instruction& found = instruction(step);
  if (found.op == PlanOp::store) {
    state_.size(plan_.pool[found.operands + 1]) = step.size;
  }
  return found;
}

void Repetition::give(std::span<BufferView> results) {
  for (size_t k = 0; k < results.size(); ++k) {
    const Recalled::View& result = record_.results[k];
    results[k] = result.view;
    lay(results[k], result.place);
    host_.retain(results[k].owner);
  }
}

}  // namespace dvm::runtime
