#include "runtime/execute/context.h"

#include "core/error.h"

namespace dvm::runtime {

namespace {

// A host call may enter another Plan: it finds the next context of its thread, not ours.
struct ContextStack {
  std::vector<std::unique_ptr<ExecutionContext>> contexts;
  size_t depth = 0;
};
// Asked for on each call: a pointer that needs no initialisation is one look at the thread's
// memory, an object with a destructor several.
constinit thread_local ContextStack* known_stack = nullptr;

[[gnu::noinline, gnu::cold]] ContextStack& first_stack() {
  thread_local ContextStack stack;
  known_stack = &stack;
  return stack;
}

ContextStack& stack_of_thread() { return known_stack != nullptr ? *known_stack : first_stack(); }

template <typename T>
void grow(std::vector<T>& v, size_t size) {
  if (v.size() < size) v.resize(size);
}

}  // namespace

ExecutionContext::ExecutionContext() : state_(std::make_unique<State>()) {}
ExecutionContext::~ExecutionContext() = default;

ExecutionContext& ExecutionContext::acquire() {
  ContextStack& stack = stack_of_thread();
  if (stack.depth == stack.contexts.size()) {
    stack.contexts.push_back(std::make_unique<ExecutionContext>());
  }
  return *stack.contexts[stack.depth++];
}

void ExecutionContext::release(ExecutionContext& context) {
  ContextStack& stack = stack_of_thread();
  DVM_CHECK(stack.depth > 0 && stack.contexts[stack.depth - 1].get() == &context,
            "contexts are released in the reverse order of their acquisition");
  context.times = nullptr;
  context.frozen = nullptr;
  context.repeats = true;
  --stack.depth;
}

void ExecutionContext::State::prepare(const Plan& plan) {
  defined = 0;
  stopped_at = -1;
  grow(sizes, static_cast<size_t>(plan.sizes));
  grow(buffers, static_cast<size_t>(plan.buffers));
  grow(ownership, static_cast<size_t>(plan.buffers));
}

}  // namespace dvm::runtime
