// Replaying: the loop over the steps of a tree of Paths, and what becomes of the call.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "capture/path/history.h"
#include "capture/path/path.h"
#include "runtime/execute/executor.h"

namespace dvm::capture {

class Draws;
class OtherThreads;
class Recursion;
class Undo;

enum class Outcome : uint8_t {
  done,      // `value` holds the result
  missed,    // a guard failed and no path goes on from there
  dropped,   // a computation or a size check failed, nothing is visible: the original must run, so
             // that an exception is raised where the program raises it, and caught where it does
  spared,    // behind this a function that dvm does not know would be called, perhaps for nothing
  fallback,  // the path ends here on purpose, nothing is visible: the original runs
  raised,    // a Python error is set, and is an effect's own
  interrupted,  // something waits that the interpreter does between two instructions, a signal's
                // handler, say; or has raised the Python error that is set. Nothing is visible
};

// What an activation of a recursive function gave, kept for another way of the same call: each way
// that runs it anew would run all below it, so that the ways of a deep tree would multiply.
struct Given {
  const Recursion* function;
  std::vector<Ref> arguments;
  Ref value;
  bool taken;  // by the way that is tried now: each calls it once for each that it has
};

inline void begin_anew(std::vector<Given>& given) {
  for (Given& each : given) each.taken = false;
}

// One call, as the replay sees it.
struct Call {
  PyObject* const* arguments;             // by parameter slot, held by the caller
  PyObject* parameters = nullptr;         // their names, for explanations
  runtime::CallTimes* times = nullptr;    // where to add timings; null: no clock is read
  std::vector<Miss>* missed = nullptr;    // where to say why each guard failed
  History* history = nullptr;             // where to keep why the call is dropped
  bool rehearsal = false;                 // end at the commit, as if the rest were `return None`
  PyObject* value = nullptr;              // new reference
  const Path* path = nullptr;             // where it ended
  int64_t opaque = 0;                     // calls of functions dvm does not know
  int64_t turns = 0;                      // of loops, that were replayed one by one
  bool spares_opaque = false;             // end before such a call
  std::vector<Miss> lost = {};            // why guards failed behind such calls
  bool holds_lock = false;                // the interpreter's, whatever the path says (lock.h)
  uint8_t refused = 0;                    // of a loop's turn that failed: a Refusal
  bool minds_signals = true;              // else they wait
  core::Loc interrupted_at{};             // the line that an interruption came at
  std::vector<Ref>* registers = nullptr;  // where to keep what they held; null: nowhere
  // Of a turn: whether a loop within writes into arrays of the loop around it, and whether any was
  // written before the commit. What such a turn did cannot be tried in another way.
  bool lends = false, wrote = false;
  // Of the call that the turn is part of; null: the call is no turn.
  Undo* undo = nullptr;
  Draws* draws = nullptr;
  OtherThreads* others = nullptr;  // of the outermost activation of a recursive function
  bool tries_several = false;      // ways that may begin with the same activations
  std::vector<Given> given = {};
};

Outcome replay(const Path& root, Call& call);

// A step of one of the paths of a tree.
struct TreeStep {
  const Path* path;
  const Step* step;
};
// Runs single steps of a tree, all before the commit, on registers that are kept from one to the
// next. Where a step fails, which says no more than that, none must be run behind it.
class StepRunner {
 public:
  StepRunner(const Path& root, PyObject* const* arguments);
  ~StepRunner();
  StepRunner(const StepRunner&) = delete;
  StepRunner& operator=(const StepRunner&) = delete;

  bool run(const TreeStep& step);
  PyObject* operator[](int32_t reg) const;
  // Another one, on registers of its own that hold the same.
  std::unique_ptr<StepRunner> fork() const;
  // Behind those that are kept already.
  void move_to(std::vector<Ref>& kept);

 private:
  struct State;
  explicit StepRunner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dvm::capture
