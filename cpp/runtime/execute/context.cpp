#include "runtime/execute/context.h"

#include <algorithm>

namespace dvm::runtime {

namespace {

// A host call may enter another Plan: it finds another context of its thread, not ours. Calls end
// in any order, for host functions may switch greenlets.
struct Contexts {
  std::vector<std::unique_ptr<ExecutionContext>> all;
  std::vector<ExecutionContext*> free;  // has room for all
};
// Asked for on each call: a pointer that needs no initialisation is one look at the thread's
// memory, an object with a destructor several.
constinit thread_local Contexts* known_contexts = nullptr;

[[gnu::noinline, gnu::cold]] Contexts& first_contexts() {
  thread_local Contexts contexts;
  known_contexts = &contexts;
  return contexts;
}

Contexts& contexts_of_thread() {
  return known_contexts != nullptr ? *known_contexts : first_contexts();
}

}  // namespace

ExecutionContext::ExecutionContext() : state_(std::make_unique<State>()) {}
ExecutionContext::~ExecutionContext() = default;

ExecutionContext& ExecutionContext::acquire() {
  Contexts& contexts = contexts_of_thread();
  if (contexts.free.empty()) {
    contexts.free.reserve(contexts.all.size() + 1);
    return *contexts.all.emplace_back(std::make_unique<ExecutionContext>());
  }
  ExecutionContext& last = *contexts.free.back();
  contexts.free.pop_back();
  return last;
}

void ExecutionContext::release(ExecutionContext& context) {
  context.times = nullptr;
  context.frozen = nullptr;
  context.program = nullptr;
  context.repeats = true;
  contexts_of_thread().free.push_back(&context);
}

void ExecutionContext::State::prepare(const Plan& plan, std::span<const core::Scalar> arguments) {
  given = arguments;
  callers.clear();
  numbers.clear();
  frame = {.plan = &plan};
  stopped_at = -1;
  notes.begin();
  reserve(plan);
}

// As much again as there is where it must grow: a recursion enters a Plan often.
void ExecutionContext::State::reserve(const Plan& plan) {
  const size_t most_sizes = frame.sizes + static_cast<size_t>(plan.sizes);
  const size_t most_buffers = frame.buffers + static_cast<size_t>(plan.buffers);
  if (sizes.size() < most_sizes) sizes.resize(std::max(most_sizes, 2 * sizes.size()));
  if (buffers.size() < most_buffers) {
    buffers.resize(std::max(most_buffers, 2 * buffers.size()));
    ownership.resize(buffers.size());
  }
}

void ExecutionContext::State::enter(const Plan& plan) {
  callers.push_back(frame);
  frame = {.plan = &plan,
           .sizes = frame.sizes + static_cast<size_t>(frame.plan->sizes),
           .buffers = frame.buffers + static_cast<size_t>(frame.plan->buffers),
           .numbers = numbers.size()};
  reserve(plan);
}

void ExecutionContext::State::leave() {
  numbers.resize(frame.numbers);
  frame = callers.back();
  callers.pop_back();
}

}  // namespace dvm::runtime
