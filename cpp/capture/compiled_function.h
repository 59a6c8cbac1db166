// A compiled function: the user's function, its guard tree of Paths, and what happens on a call.
//
//   hit      signatures and guards match a Path: replay it
//   miss     nothing matches: run the original once under the tracer and add the Path it took
//   fallback the matching Path could not be compiled: run the original, counted and named
//   drop     a replay found a size check broken: run the original, nothing was visible yet
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capture/guard_tree.h"
#include "capture/path.h"
#include "capture/tracer.h"

namespace dvm::capture {

struct Stats {
  int64_t calls = 0, hits = 0, misses = 0, captures = 0, recaptures = 0, fallbacks = 0, drops = 0;
};

inline constexpr int kMaxParameters = 32;
inline constexpr int kMaxPaths = 64;

class CompiledFunction {
 public:
  struct Leaf {
    explicit Leaf(std::unique_ptr<Path> p) : path(std::move(p)), guards(*path) {}
    std::unique_ptr<Path> path;
    GuardSet guards;
    int64_t hits = 0;
  };
  // Turns a recording into a Path (one with a reason when it cannot be compiled). Null: a Python
  // error is set.
  using Lower = std::unique_ptr<Path> (*)(PyObject* compiled, const Trace& trace,
                                          PyObject* const* arguments, Py_ssize_t count);

  CompiledFunction(PyFunctionObject* function, Lower lower);

  // The vectorcall protocol. `self` is the Python object that owns this.
  PyObject* call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* keywords);
  // The same for one hit, with clocks: null with no error set when no Path matches.
  PyObject* timed_call(PyObject* const* args, Py_ssize_t count, runtime::CallTimes& times);

  PyObject* function() const { return function_.get(); }
  const Stats& stats() const { return stats_; }
  const GuardTree<Leaf>& tree() const { return tree_; }
  // Why no call of this function can be captured, or empty.
  const std::string& refusal() const { return refusal_; }
  // For explain: why the call did not match each existing path.
  std::vector<std::string> explain_miss(PyObject* const* args, Py_ssize_t count);
  int traverse(visitproc visit, void* arg) const;

 private:
  // Where the function's code was replaced: reads what depends on it, retires the old code's paths.
  // Every entry point begins with it, for `bind` relies on the parameters of the present code.
  void adopt_code();
  Leaf* find(PyObject* const* bound, std::string* failed = nullptr);
  PyObject* capture(PyObject* self, PyObject* const* bound);
  // Positional, keyword and default arguments into parameter order; false: the original must sort
  // it out (and raise its own TypeError).
  bool bind(PyObject* const* args, Py_ssize_t count, PyObject* keywords, PyObject** bound) const;

  Ref function_;
  Ref code_;  // the function's code when its paths were made
  Lower lower_;
  std::string refusal_;
  int parameters_ = 0, positional_ = 0;  // positional_: those that may be passed by position
  GuardTree<Leaf> tree_;
  std::vector<GuardTree<Leaf>> retired_;  // kept: a replay further up the stack may be using them
  int path_count_ = 0;
  Stats stats_;
};

}  // namespace dvm::capture
