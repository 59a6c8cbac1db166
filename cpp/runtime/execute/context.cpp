#include "runtime/execute/context.h"

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

template <typename T>
void grow(std::vector<T>& v, size_t size) {
  if (v.size() < size) v.resize(size);
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
  context.repeats = true;
  contexts_of_thread().free.push_back(&context);
}

void ExecutionContext::State::prepare(const Plan& plan) {
  defined = 0;
  stopped_at = -1;
  notes.begin();
  grow(sizes, static_cast<size_t>(plan.sizes));
  grow(buffers, static_cast<size_t>(plan.buffers));
  grow(ownership, static_cast<size_t>(plan.buffers));
}

}  // namespace dvm::runtime
