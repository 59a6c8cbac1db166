// What is the same in all turns of a call, as the machine has it: cells and objects that are filled
// from what the registers of a path hold, and the steps that must hold, or not, for the code to be
// that of the call's turns.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "capture/path/path.h"
#include "capture/replay/numbers/code.h"
#include "capture/replay/numbers/list_mirror.h"
#include "capture/replay/replay.h"
#include "capture/replay/undo.h"

namespace dvm::capture {
class Loop;
}

namespace dvm::capture::numbers {

class InnerItems;
class ObjectStep;

class Bound {
 public:
  Bound();
  ~Bound();
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

  Code& code() { return code_; }
  // Where instructions keep what they write over, while the code runs; null: nowhere.
  Undo* undo = nullptr;

  // Where a register is among those that are kept. Each way that turns go has registers of its own:
  // it begins with those of the way that it leaves, as they are there; a tree of paths with none
  // (-1), on the arguments of the call, or of a loop within by their homes (-1: it changes).
  size_t begin_way(const Path& root, int32_t from) { return begin_way({&root, from}); }
  size_t begin_way(const Path& root, std::vector<int32_t> arguments) {
    return begin_way({&root, -1, std::move(arguments)});
  }
  int32_t home(size_t way, int32_t reg) const { return ways_[way].offset + reg; }
  // The step holds in all turns, or it does not; false: it is neither, for what it needs is
  // missing.
  void grant(size_t way, const TreeStep& step, bool holds) {
    granted_.push_back({way, step, holds});
  }

  // By the home of its register.
  void add(int32_t home, const Number& number) { numbers_.push_back({home, number}); }
  void add(int32_t home, const Elements& elements) { arrays_.push_back({home, elements}); }
  void add(int32_t home, ObjectStep& step) { objects_.push_back({home, &step}); }
  // As an instruction.
  void append(std::unique_ptr<CellStep> step) {
    code_.emit(Op::step, 0, 0, literal_of(*step));
    steps_.push_back(std::move(step));
  }
  void keep(std::unique_ptr<CellStep> step) { steps_.push_back(std::move(step)); }
  // What a loop within iterates over.
  InnerItems& add(std::unique_ptr<InnerItems> items);
  // That the code has one like this.
  void add(Loop& loop, int32_t version);
  bool has_loops() const { return !loops_.empty(); }
  bool has_arrays() const { return !arrays_.empty(); }

  // With registers that hold what is the same in the turns to come, those of the first way at
  // least; false: it does not fit.
  bool fill(std::vector<Ref> registers);
  // With those that the steps leave, which are run with these arguments.
  bool find(PyObject* const* arguments, std::vector<Ref>& registers) const;
  void empty();
  // Lists get what the code has stored in them, behind each run of it.
  void settle_lists() {
    for (const auto& mirror : mirrors_) mirror->settle();
  }
  // Whether there are more ways now that turns of a loop within go.
  bool is_stale() const;

 private:
  struct Way {
    const Path* root;
    int32_t from;
    std::vector<int32_t> arguments = {};
    int32_t offset = 0;
  };
  size_t begin_way(Way way);
  void mirror_lists(std::vector<PyObject*> apart);
  bool run(size_t first, PyObject* const* arguments, std::vector<Ref>& registers) const;
  struct Granted {
    size_t way;
    TreeStep step;  // of no path: the way begins here
    bool holds;
  };
  struct SameNumber {
    int32_t home;
    Number number;
  };
  struct SameArray {
    int32_t home;
    Elements elements;
  };
  struct SameObject {
    int32_t home;
    ObjectStep* step;
  };

  Code code_;
  std::vector<Way> ways_;
  std::vector<Granted> granted_;
  std::vector<SameNumber> numbers_;
  std::vector<SameArray> arrays_;
  std::vector<SameObject> objects_;
  std::vector<std::unique_ptr<CellStep>> steps_;
  std::vector<std::unique_ptr<InnerItems>> items_;
  std::vector<std::unique_ptr<ListMirror>> mirrors_;  // of lists of which elements are replaced
  struct HeldLoop {
    Loop* loop;
    int32_t version;
    size_t paths;
  };
  std::vector<HeldLoop> loops_;
  std::vector<Ref> registers_;  // keeps alive what cells and objects are filled from
};

inline int64_t literal_of(const Bound& bound) { return reinterpret_cast<int64_t>(&bound); }

}  // namespace dvm::capture::numbers
