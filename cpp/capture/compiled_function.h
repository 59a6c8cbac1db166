// A compiled function: the user's function, its Paths, and what happens on a call.
//
//   hit      the guards of a Path hold: replay it
//   miss     no Path takes the call: run the original once under the tracer, add the Path it took
//   fallback a Path ends where the original must run, counted and named
//   drop     a replay failed with nothing visible yet: run the original
//   split    what would be a fallback runs in parts: those of them that can be are compiled
//   eager    the stance of the caller lets the original run
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capture/in_flight.h"
#include "capture/policy.h"
#include "capture/record/recorder.h"
#include "capture/replay/replay.h"

namespace dvm::capture {

struct Stats {
  int64_t calls = 0, hits = 0, misses = 0, captures = 0, recaptures = 0, fallbacks = 0, drops = 0;
  int64_t opaque = 0;  // calls of functions dvm does not know, made by replays
  int64_t eager = 0;   // calls that the stance left to the original
  int64_t splits = 0;  // calls that ran in parts
};

inline constexpr int kMaxPaths = 64;

// Each part of a function but the first begins with a call of this: its locals are its own from
// there on, so that what it drops is dropped.
void begin_part();

// A thread of this process, or none; what one of the parent's did is over in the child of a fork.
struct PlainThread {
  unsigned long thread = 0;
  uint64_t process = 0;

  static PlainThread present() { return {PyThread_get_thread_ident(), InFlight::process()}; }
  bool is_any() const { return thread != 0 && process == InFlight::process(); }
  bool operator==(const PlainThread&) const = default;
};

class CompiledFunction {
 public:
  // Turns a recording into a Path, whose segments are not compiled yet. Null: a Python error is
  // set, or it would take longer than `nanos`, which is then how long, about, or 0.
  using Lower = std::unique_ptr<Path> (*)(PyObject* compiled, const Trace& trace,
                                          PyObject* const* arguments, Py_ssize_t count,
                                          int64_t& nanos);

  CompiledFunction(PyFunctionObject* function, Lower lower);

  // The vectorcall protocol. `self` is the Python object that owns this.
  PyObject* call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* keywords);
  // A rehearsal of the same with clocks: nothing becomes visible, the value of a path with effects
  // is None. Null with no error set when no Path takes the call.
  PyObject* timed_call(PyObject* const* args, size_t nargsf, PyObject* keywords,
                       runtime::CallTimes& times);
  // Why the Paths do not take the call, one reason for each that was tried, or why the one that
  // takes it is dropped; empty if a replay serves it.
  // Computes what the guards need, and commits nothing.
  std::vector<Miss> explain_miss(PyObject* const* args, size_t nargsf, PyObject* keywords);

  // Told of every new event of any function, after what it tells of has happened.
  using Observer = void (*)(PyObject* compiled, const Event& event);
  static void observe(Observer observer);  // null: nobody

  // What runs where the original would because it is not compiled: functions that do the same one
  // after the other. A tuple of what stands first in the tuples that all but the last hand on, and
  // of pairs: a part, of which the first takes what the original takes, another what stands behind
  // that; and the offset in its code from which on it only calls what was moved out of it. Null:
  // the original itself.
  void set_parts(PyObject* parts) { parts_ = Ref::borrow(parts); }

  const History& history() const { return history_; }
  PyObject* function() const { return function_.get(); }
  const Stats& stats() const { return stats_; }
  // In the order they were captured.
  const std::vector<std::unique_ptr<Path>>& paths() const { return paths_; }
  // Why no call of this function can be captured, or empty.
  // Messages of reasons.h; empty where nothing is refused.
  const std::string& refusal() const { return refusal_; }
  // Why calls that match no path, or all calls, run uncompiled at present; or empty.
  std::string limit() const;
  int traverse(visitproc visit, void* arg) const;
  // Lets go of all that it made, for the garbage collector. It may still be called.
  void clear();

 private:
  // Where the function's code was replaced: reads what depends on it, retires the old code's paths.
  // Every entry point begins with it, for binding relies on the parameters of the present code.
  void adopt_code();
  // Frees the paths of replaced code once no replay can be in one of them.
  void free_retired();
  Outcome find(Call& call);
  // The same, once more where something waited that the interpreter does between two instructions
  // (interrupted.h).
  Outcome find_again(Call& call);
  // How much a call is given (call_load.h).
  bool has_compiled_paths() const;  // others say why calls run plain
  double load_of(const Call& call) const;
  // Whether a replay may call functions whose results may be lost.
  bool may_lose_opaque() const;
  // The original, for a call that began at `begin` (0: no clock was read) and was not served.
  template <typename Original>
  PyObject* plain(const Call& call, const Times& begin, const Original& original);
  // A call that is not compiled: in parts where there are some, else `original`.
  template <typename Original>
  PyObject* uncompiled(PyObject* const* args, size_t nargsf, PyObject* keywords,
                       const Original& original);
  PyObject* missed(PyObject* self, Call& call, const Times& begin);
  PyObject* capture(PyObject* self, Call& call);
  // Why the known paths do not take a call; a Python error may be set.
  std::vector<Miss> misses_of(PyObject* const* bound);

  Ref function_;
  Ref code_;   // the function's code when its paths were made
  Ref parts_;  // of the present code
  Lower lower_;
  std::string refusal_;
  int parameters_ = 0;   // slots of the present code
  int by_position_ = 0;  // a call with exactly so many positional arguments binds as it is
  std::vector<std::unique_ptr<Path>> paths_;
  std::vector<Path*> roots_;                                 // paths that start from the beginning
  size_t likely_ = 0;                                        // the root that took the last call
  std::vector<std::vector<std::unique_ptr<Path>>> retired_;  // a replay may still be using them
  InFlight running_;                                         // replays
  InFlight capturing_;                                       // a path is made
  PlainThread runs_plain_;                                   // in which a call runs the original
  bool warned_ = false;                                      // of the limit of paths
  Stats stats_;
  Policy policy_;
  int64_t lost_opaque_ = 0;  // replays given up that had called functions dvm does not know
  std::string why_;          // a single call ran plain, where that is not the policy's
  History history_;
  bool may_skip_turns_ = true;  // of long loops, in recordings
  bool replaced_ = false;       // the code, since the last capture
};

}  // namespace dvm::capture
