// What every door makes and runs, captured paths, C++ programs and graphs from text alike: a Plan
// and the target it was compiled for. Operands are described without the host language.
#pragma once

#include <span>
#include <utility>

#include "runtime/execute/executor.h"
#include "runtime/plan/plan.h"
#include "vm/target/target.h"

namespace dvm::runtime {

// Immutable once made: any number of threads may run one at the same time.
class CompiledGraph {
 public:
  CompiledGraph(Plan plan, vm::Target& target) : plan_(std::move(plan)), target_(&target) {}

  const Plan& plan() const { return plan_; }
  vm::Target& target() const { return *target_; }

  // As execute(): the caller has checked dtypes and ranks, for instance by check_arguments().
  Outcome run(HostCalls& host, std::span<const BufferView> inputs,
              std::span<const core::Scalar> scalars, std::span<BufferView> results,
              ExecutionContext& context) const {
    return execute(plan_, *target_, host, inputs, scalars, results, context);
  }

 private:
  Plan plan_;
  vm::Target* target_;
};

// Throws DtypeError or ShapeError for an input of another dtype or rank than declared, ShapeError
// for another number of inputs or scalars, and UnsupportedError where the Graph that was compiled
// lacked a constant.
void check_arguments(const Plan& plan, std::span<const BufferView> inputs, size_t scalars);

// A context of the calling thread, for one call.
class BorrowedContext {
 public:
  explicit BorrowedContext(CallTimes* times = nullptr, FrozenMemory* frozen = nullptr)
      : context_(ExecutionContext::acquire()) {
    context_.times = times;
    context_.frozen = frozen;
  }
  ~BorrowedContext() { ExecutionContext::release(context_); }
  BorrowedContext(const BorrowedContext&) = delete;
  BorrowedContext& operator=(const BorrowedContext&) = delete;
  ExecutionContext& operator*() { return context_; }

 private:
  ExecutionContext& context_;
};

}  // namespace dvm::runtime
