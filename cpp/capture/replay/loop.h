// A loop of the user's function as one step of a Path: its body is replayed for each turn. The
// arguments of that are the variables that the loop names and the
// item, its value a tuple: what became of the turn, and of the variables.
//
// A turn writes into the arrays that the loop is lent (steps `lend` and `put`), the path's own or
// the caller's: what was in these is kept, and comes back where the call is given up (undo.h). A
// loop within another one writes into the arrays of that: the turn that holds it is not tried in
// another way then, and where it cannot be finished the whole call is given up.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "capture/replay/numbers/stretch.h"
#include "capture/replay/subroutine.h"

namespace dvm::capture {

class Loop : public Subroutine {
 public:
  // What a turn's tuple begins with: that the loop goes on, or the place where the frame went on.
  static constexpr long kNext = -1;

  // The tuple of a turn that goes on has the new values of the variables `carried`, by slot. Where
  // nothing is left to iterate over, the loop's own value is `end` and the variables `at_end`.
  struct Layout {
    int32_t variables = 0;
    std::vector<int32_t> carried, at_end;
    Ref end;
  };

  explicit Loop(Layout layout) : Subroutine(layout.variables + 1), layout_(std::move(layout)) {}

  // Paths that hold the loop rely on what is known of its bodies: those made before miss.
  void changed() { ++version_, missed_turn_ = -1; }
  int32_t version() const { return version_; }
  const Layout& layout() const { return layout_; }
  int64_t missed_turn() const { return missed_turn_; }  // of the last call that missed; -1: none

  // Whether all calls have as many turns is watched from now on. After kSteady of them it
  // `is_steady`: paths that hold it miss then, for unrolled its turns fuse.
  void watch_count() { watched_ = Watched{}; }
  bool is_steady() const { return watched_ && watched_->calls >= kSteady; }

  // Runs all turns of a call. The loop's value is a new reference, or null: then `outcome` says
  // why, and a Python error may be set.
  struct Result {
    PyObject* value = nullptr;
    Outcome outcome = Outcome::missed;
    bool wrote = false;  // whether a turn may have written into what the loop was given
    bool drew = false;   // whether one has drawn that cannot be begun again
  };
  Result run(Frame& frame, PyObject* iterator, std::span<PyObject* const> given);

  // How many turns were not replayed, for they had to do with numbers alone (numbers/stretch.h).
  int64_t turns_of_numbers() const { return turns_of_numbers_; }
  int64_t turns_replayed() const { return turns_replayed_; }
  // The line for which some are; none: no path has such a line.
  std::optional<core::Loc> replayed_at() const { return learning_.refused_at(); }
  void count_turns_of_numbers(int64_t turns) { turns_of_numbers_ += turns; }

  void clear() override;

 private:
  PyObject* run_turns(Frame& frame, PyObject* iterator, std::span<PyObject* const> given,
                      Result& result);
  bool may_learn(const Frame& frame) const;
  void note_count(int64_t turns);

  // A capture takes some 5 ms, and unrolled turns save some 20 us of a call.
  static constexpr int64_t kSteady = 250;
  struct Watched {
    int64_t turns = -1, calls = 0;  // of each call; and how many there were
  };

  const Layout layout_;
  int32_t version_ = 0;
  int64_t missed_turn_ = -1, turns_of_numbers_ = 0, turns_replayed_ = 0;
  numbers::Learning learning_;
  std::optional<Watched> watched_;
};

// Of a Python object that holds one (subroutine.h).
bool is_loop(PyObject* object);
Loop& loop_of(PyObject* object);

}  // namespace dvm::capture
