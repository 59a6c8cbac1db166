// Functions, bodies and objects: the Plan that is executed enters others by a stack of frames, so
// that no recursion is one of C++. What waits to run goes on waiting meanwhile.
#pragma once

#include "runtime/execute/context.h"
#include "runtime/execute/launcher.h"

namespace dvm::runtime {

class Frames {
 public:
  // `program`: whose functions and data types there are.
  Frames(const Plan& program, Launcher& launcher, HostCalls& host, ExecutionContext::State& state)
      : program_(program), launcher_(launcher), host_(host), state_(state) {}

  const Plan& body(int32_t index) const;  // of the innermost Plan

  // Goes on in a function or body, whose results are those of the instruction. `lists`: of the
  // buffers and sizes that it is given, the buffers behind the `fields` registers of it that the
  // caller of this defines.
  Outcome enter(const Plan& inner, const int32_t* lists, size_t fields = 0);
  // In the body that is for the object's constructor, with its fields in the first registers.
  Outcome match(const int32_t* p);
  Outcome construct(int32_t result, const int32_t* p);
  // Ends a function or body: its results are defined in the caller, which has the references.
  Outcome give_to_caller(const int32_t* list);

  void define_constants();  // of the innermost Plan
  // Lets go of what a register has. While Programs are held they have room for its memory.
  void drop(int32_t b);
  void end();  // of all frames

 private:
  int32_t next_register() const { return static_cast<int32_t>(state_.frame.defined); }
  void drop_all();  // of the innermost

  const Plan& program_;
  Launcher& launcher_;
  HostCalls& host_;
  ExecutionContext::State& state_;
  int64_t entered_ = 0;  // functions and bodies
};

}  // namespace dvm::runtime
