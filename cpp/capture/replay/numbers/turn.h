// A turn of a loop of arrays as instructions of the machine. It is made of the steps of a path
// (steps.def) and of what its registers held in a turn that was replayed: what depends on no number
// that changes is the same in the turns that follow, its guards hold there, too, and nothing of it
// is done again. In another call of the loop it is as good, once that has been looked at anew: in a
// turn that was replayed, or by itself.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "capture/path/path.h"
#include "capture/replay/numbers/arrays.h"
#include "capture/replay/numbers/attempt.h"
#include "capture/replay/numbers/bound.h"
#include "capture/replay/numbers/changes.h"
#include "capture/replay/numbers/items.h"
#include "capture/replay/replay.h"

namespace dvm::capture::numbers {

class Turn {
 public:
  // `registers` as the turn of this path left them, which the Turn keeps alive. Null: the path is
  // not one of numbers and arrays alone, and `stopped` says where.
  static std::unique_ptr<Turn> of(const Path& path, std::vector<Ref> registers,
                                  const Changes& changes, core::Loc& stopped);
  ~Turn();

  // For the turns that follow one which left these registers; false: it does not fit.
  bool fill(std::vector<Ref> registers);
  // For the turns from the one with these arguments on, though none was replayed: it runs only the
  // steps whose results the turns themselves rely on.
  bool prepare(PyObject* const* arguments);
  void empty();
  bool has_arrays() const { return !steps_.empty(); }
  // Whether its runs take so long that a replay takes no longer, and lets other threads run. One
  // that does may just have been the first of its sizes.
  bool is_slow() const { return slow_runs_ >= kSlowRuns; }

  // Runs as many turns as are this one's, at most so many; their number. Each but the first takes
  // what the one before it gave, and the next item: `more` is whether there is one, in the last of
  // the variables. What they write over is kept in `undo`, unless that is null.
  int64_t run(std::span<Variable> variables, Items& items, int64_t most, bool& more, Undo* undo,
              Draws& draws);
  // Whether it was stopped since others are to have their chance.
  bool was_long() const { return was_long_; }

  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  friend class TurnCode;
  Turn();
  struct Place {
    size_t slot;
    Number number;
  };
  void join();
  bool run_code();
  bool take(std::span<const Variable> variables);
  bool take_arrays(std::span<Variable> variables, const Items& items);
  bool take_item(const Variable& item, const Items& items);
  bool take_parts(const Variable& item);
  bool take_parts(const Items& items);
  bool takes_item() const { return array_item_.has_value() || item_size_ >= 0; }
  bool pass_arrays();
  bool is_for_replays() const;
  void note_time(bool is_slow);
  void let_go_of_arrays();
  bool fill_arrays(std::span<const Ref> registers);

  Bound bound_;
  Code& code_ = bound_.code();
  // Arrays that change, and those that are the same in all turns.
  struct TakenArray {
    size_t variable;
    int32_t reg;
    Slot* slot;
    Likeness like;
  };
  struct GivenArray {
    size_t variable;
    const Slot* slot;
    TakenArray* taken = nullptr;  // by the next turn
    Ref last = {};                // of the last turn that was run
  };
  struct SameList {
    int32_t reg;
    AppendArrayStep* step;
  };
  struct SameSlot {
    int32_t reg;
    Slot* slot;
  };

  std::vector<Place> takes_, gives_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::unique_ptr<ArrayStep>> steps_;
  std::vector<TakenArray> array_takes_;
  std::vector<GivenArray> array_gives_;
  std::vector<SameSlot> same_slots_;
  std::vector<SameList> same_lists_;
  std::optional<TakenArray> array_item_;
  // Of a tuple that is the item: an array, or else a number.
  struct ItemPart {
    int32_t index, reg;
    Slot* slot = nullptr;
    Likeness like = {};
    Number number = {};
  };
  std::vector<ItemPart> item_parts_;
  int64_t item_size_ = -1;            // of the tuple; the item is none
  std::unique_ptr<Attempt> attempt_;  // null: nothing is done that would have to be taken back
  bool was_long_ = false, is_too_long_ = false;
  static constexpr int kSlowRuns = 2;
  int slow_runs_ = 0;  // one after the other
  int32_t item_ = -1;  // the cell that takes it
  Type item_type_;
  bool follows_itself_ = true;  // what it gives is what it takes
  bool knows_arrays_ = true;
};

}  // namespace dvm::capture::numbers
