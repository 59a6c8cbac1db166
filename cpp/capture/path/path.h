// A Path: one straight way through the user's function, as a list of steps (steps.def) over
// registers that hold Python objects.
//
// Paths of one function form trees. A path that begins like another one and leaves it at a guard
// holds only what comes from that guard on; the other path's step names it as the way to go on
// when the guard fails, with the registers filled so far (see path_tree.h).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/known_object.h"
#include "capture/library/library.h"
#include "capture/path/steps.h"
#include "capture/replay/signature.h"
#include "driver/compile.h"

namespace dvm::capture {

struct Path;

struct Step {
  StepOp op;
  int32_t at = -1;                  // into Path::locations
  uint32_t operands = 0;            // first word in Path::pool
  const Path* otherwise = nullptr;  // where to go on when this guard fails; null: a miss
};

// Names that must be bound to the same objects as when the path was recorded, in namespace dicts
// and in classes (with their bases). Both carry version tags: only those that changed since the
// last success are looked at again.
struct NameGuard {
  struct Name {
    Ref holder, name;
    Ref object;  // as known_as() has it; none: the name must be absent
    bool of_class() const { return PyType_Check(holder.get()); }
    PyObject* present() const;  // borrowed; null: absent
    bool holds() const {
      PyObject* wanted = still_there(object.get());
      return present() == wanted && (wanted || !object);
    }
    std::string text() const;  // "global weights", "Encoder.heads"
    // What is asked, whatever the answer is.
    bool same_question(const Name& other) const {
      return holder.get() == other.holder.get() &&
             PyUnicode_Compare(name.get(), other.name.get()) == 0;
    }
    bool operator==(const Name& other) const {
      return object.get() == other.object.get() && same_question(other);
    }
  };
  struct Version {
    PyObject* holder;
    uint64_t tag;  // 0: never seen, or of a class that CPython gives none
  };
  std::vector<Name> names;
  std::vector<Version> versions;

  void add(Name name);
  bool holds();
};

// What a result of a Plan becomes.
enum class ResultKind : uint8_t {
  array,
  numpy,     // a NumPy scalar
  floating,  // a Python number, of a rank-0 result
  integer,
  boolean,
};
const char* to_string(ResultKind kind);

// A tensor graph, compiled, with the registers it reads and writes.
struct Segment {
  struct Output {
    core::Value value;  // of the graph
    int32_t reg;
    ResultKind kind;
    int32_t result = 0;     // which of the Plan's results
    bool permuted = false;  // the array's logical axis i is the result's axis order[i]
    std::array<int8_t, core::kMaxRank> order = {};
    // The caller's array it is copied into behind the commit, if it may be written there at once
    // (targets.h), and which of the Plan's host arrays it is; -1: none.
    int32_t target = -1, allocation = -1;
  };
  core::Graph graph;
  const Library* library = nullptr;       // whose arrays its results become
  std::vector<int32_t> tensors, scalars;  // registers of the graph's inputs, in order
  std::vector<bool> reads;  // of `tensors`, whether elements are read; else only sizes are
  std::vector<Output> outputs;
  int32_t flags = 0;       // FP status flags (core/ops/fp_flags.h) that drop the replay
  int32_t only_warns = 0;  // those that do not where the caller ignores RuntimeWarnings
  // Whether it has products of matrices: where infinities meet a NaN, the order of a sum decides
  // whether it raises `invalid` (inf + nan - inf does not, inf - inf + nan does).
  bool has_products = false;
  std::optional<driver::Compilation> compilation;  // once the path has its place in a tree
  // The same with these scalars of the graph as arrays of rank 0: for turns of a loop that change
  // them, of which each would encode all anew (numbers/turn_arrays.cpp).
  struct Stored {
    std::vector<core::Value> scalars;
    driver::Compilation compilation;
  };
  mutable std::shared_ptr<const Stored> stored;
};

struct Path {
  std::vector<Step> steps;
  std::vector<int32_t> pool;  // operands; objects, guards and segments by their index below
  std::vector<Ref> objects;
  std::vector<SignatureGuard> signatures;
  mutable std::vector<NameGuard> names;  // the version tags are a cache
  std::vector<std::shared_ptr<Segment>> segments;
  std::vector<core::Loc> locations;
  driver::Options options;
  int32_t registers = 0;  // of the whole tree, in a root

  // What its effects, and those of paths that leave it, mean for the interpreter's lock (lock.h):
  // registers of arrays they write into, and whether they build on what was read before.
  std::vector<int32_t> writes;
  bool keeps_lock = false;
  // Steps behind the commit that may drop what others see die (dropped_values.h).
  std::vector<int32_t> drops;

  // The path this one leaves, and at which of its steps.
  const Path* parent = nullptr;
  int32_t parent_step = -1;

  mutable int64_t hits = 0;  // calls that ended in this path

  int traverse(visitproc visit, void* arg) const;  // for the garbage collector
  core::Loc location(const Step& step) const {
    return step.at < 0 ? core::Loc{} : locations[static_cast<size_t>(step.at)];
  }
  const int32_t* operands(const Step& step) const { return pool.data() + step.operands; }
  PyObject* object(int32_t index) const { return objects[static_cast<size_t>(index)].get(); }
  PyObject* known(int32_t index) const { return still_there(object(index)); }  // of letter w

  // Why the original runs where this path ends, and where; empty: it is compiled to its end.
  std::string reason() const;
  PyObject* reason_object() const;  // borrowed; null if it does not end in a fallback
  core::Loc reason_at() const;
};

// Calls visit(int32_t& reg, bool defines) for every register a step names, in the order of its
// operands.
template <typename PathRef, typename Visit>
void for_each_register(PathRef& path, const Step& step, Visit&& visit) {
  auto* word = path.pool.data() + step.operands;
  for (const char letter : info(step.op).operands) {
    switch (letter) {
      case 'd':
        visit(*word++, true);
        break;
      case 'r':
        visit(*word++, false);
        break;
      case 'q':
        if (*word >= 0) visit(*word, false);
        ++word;
        break;
      case 'R': {
        auto count = *word++;
        for (; count > 0; --count) visit(*word++, false);
        break;
      }
      case 'S': {
        auto& segment = *path.segments[static_cast<size_t>(*word++)];
        for (auto& reg : segment.tensors) visit(reg, false);
        for (auto& reg : segment.scalars) visit(reg, false);
        for (auto& output : segment.outputs) {
          if (output.target >= 0) visit(output.target, false);
        }
        for (auto& output : segment.outputs) visit(output.reg, true);
        break;
      }
      default:
        ++word;
    }
  }
}

}  // namespace dvm::capture
