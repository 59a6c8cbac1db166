// A Path: one straight way through the user's function, compiled. Where its inputs are fetched,
// what must still hold, the Plan, and how the results become Python objects.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capture/signature.h"
#include "driver/compile.h"
#include "runtime/executor.h"

namespace dvm::capture {

// Where a later call finds an object the recording saw.
struct Source {
  enum class Kind : uint8_t { argument, variable, cell, code };
  Kind kind = Kind::argument;
  int32_t index = 0;  // argument: position
  Ref scope;          // variable: its dict; cell: the cell; code: the function
  Ref name;           // variable: its key

  PyObject* fetch(PyObject* const* arguments) const;  // borrowed; null: gone
};

// The object at `source` must be this one (modules, functions, constants reached by name). A null
// object: the name must be absent, e.g. so that a builtin stays visible.
struct IdentityGuard {
  Source source;
  Ref object;
};

// An array or number reached by name rather than passed: fetched on each call, same signature.
struct SignatureGuard {
  Source source;
  Signature signature;
};

// Python number arguments whose value the recording used as a literal (an axis, say).
struct ValueGuard {
  Source source;
  Ref value;
};

// Builds the return value; a postfix program over a small stack.
struct Mock {
  enum class Kind : uint8_t {
    result,    // index: output of the Plan, as an array
    scalar,    // index: output of the Plan, as a NumPy scalar
    fetch,     // index: into Path::returned, an input handed back as it is
    constant,  // index: into Path::constants
    tuple,     // index: number of elements
  };
  Kind kind;
  int32_t index;
};

// Room of a call: tensors, scalars, results and steps of the mock program, each.
inline constexpr size_t kMaxArguments = 64;
inline constexpr size_t kMaxMocks = 64;

struct Path {
  std::string reason;  // why this path is not compiled and the original runs; empty: it is compiled
  core::Loc reason_at;

  driver::Compilation compilation;
  vm::Target* target = nullptr;
  size_t result_count = 0;               // outputs of the Plan
  std::vector<Source> tensors, scalars;  // the Plan's arguments
  std::vector<Ref> callees;              // the Plan's host functions
  std::vector<IdentityGuard> identity_guards;
  std::vector<SignatureGuard> signature_guards;
  std::vector<ValueGuard> value_guards;
  std::vector<Mock> mocks;
  std::vector<Source> returned;
  std::vector<Ref> constants;
  std::vector<Ref> kept;  // objects whose identity is part of the signature

  int traverse(visitproc visit, void* arg) const;  // for the garbage collector
};

// Checks everything about a Path that the signatures of the arguments do not say. The dicts of the
// named objects carry version tags: while none has changed since the last success, nothing is
// looked up. `failed`, when given, receives what did not hold.
class GuardSet {
 public:
  explicit GuardSet(const Path& path);
  bool check(const Path& path, PyObject* const* arguments, std::string* failed = nullptr);

 private:
  bool check_names(const Path& path, std::string* failed) const;
  struct Version {
    PyObject* dict;
    uint64_t tag;
  };
  std::vector<Version> versions_;
  bool unversioned_ = false;  // a guard on a cell or on code, which have no version tag
};

// What a replay came to, besides its value.
//   dropped  a check or a host call failed, nothing is visible: the original must run, so that the
//            exception is raised where the program raises it, and caught where it catches it
//   raised   the interpreter is being interrupted (KeyboardInterrupt and the like)
enum class Replay : uint8_t { done, dropped, raised };

// Runs the Plan on the fetched inputs; `value` receives a new reference when done.
Replay replay(const Path& path, PyObject* const* arguments, PyObject** value,
              runtime::CallTimes* times = nullptr);

}  // namespace dvm::capture
