// A turn of a loop as instructions of the machine. It is made of the steps of a path (steps.def)
// and of what its registers held in a turn that was replayed: what depends on no number that
// changes is the same in the turns that follow, its guards hold there, too, and nothing of it is
// done again. In another call of the loop it is as good, once that has been looked at anew: in a
// turn that was replayed, or by itself.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "capture/path/path.h"
#include "capture/replay/numbers/arrays.h"
#include "capture/replay/numbers/attempt.h"
#include "capture/replay/numbers/code.h"
#include "capture/replay/replay.h"

namespace dvm::capture::numbers {

// A variable of the loop between two turns: a number, or an object where it has none, which an item
// of Items that has rows has only when it is asked for.
struct Variable {
  std::optional<Type> type;
  Cell number = {.i = 0};
  Ref object = {};
  bool changed = false;  // by a turn
};

// A number of Python's or a library's, exactly; none: it is none that the machine has.
std::optional<std::pair<Type, Cell>> number_of(PyObject* object);
// Likewise, or None, or a str, which must stay alive.
std::optional<std::pair<Type, Cell>> value_of(PyObject* object);
Variable variable_of(PyObject* object);
// Of an item: nobody else may have that, so that of no more than numbers is it a value.
Variable item_of(PyObject* object);
PyObject* object_of(Type type, Cell number);  // new reference; null: a Python error is set
// Python's or a library's type for it, and the other way; none: it is none of those.
PyTypeObject* python_type_of(Type type);
std::optional<Type> type_of_python(PyObject* type);

// What a `for` iterates over, item by item. Those of a range, list, tuple or array, and of
// `enumerate` and `zip` of them, are found without the iterator from when that is asked for; nobody
// sees it then.
class Items {
 public:
  explicit Items(PyObject* iterator) : iterator_(iterator) {}
  // Of a range, without an iterator.
  Items(int64_t start, int64_t stop, int64_t step);

  bool exist() const { return iterator_ != nullptr; }
  void count();               // from here on, where that can be
  bool next(Variable& item);  // false: none is left, or a Python error is set
  Ref next_object();          // none: likewise
  // Whether a copy, made before any item was taken, gives all of them again.
  bool can_begin_again() const;
  // Whether items are rows of an array; the last one of those.
  bool has_rows() const { return source_ == Source::rows; }
  void hold_row(Slot& slot) const;
  // Of tuples that nobody has made: how many parts they have (0: it gives others), what each is
  // iterated over by, and of the last one what it gave.
  size_t parts() const { return parts_.size(); }
  const Items& items_of(size_t part) const { return parts_[part]; }
  const Variable& last_of(size_t part) const { return last_[part]; }
  // The one that `item` has just been made, with its identity.
  Ref object_of_last(const Variable& item) const;

 private:
  enum class Source : uint8_t { iterator, range, sequence, array, rows, tuples };
  void count_tuples();
  bool next_of_tuples(Variable& item);
  bool next_of_sequence(Variable& item);
  bool next_of_array(Variable& item);

  PyObject* iterator_;  // null: of a `while`
  Source source_ = Source::iterator;
  int64_t value_ = 0, step_ = 0, left_ = 0;  // of a range
  Ref sequence_;                             // a list or tuple, or an array
  const Library* library_ = nullptr;         // whose array
  int64_t at_ = 0;
  Type type_;  // of the array's elements
  std::vector<Items> parts_;
  std::vector<Variable> last_;
};

// What a turn changes: the item, behind the variables, is one of them.
struct Changes {
  std::vector<bool> slots;
  std::vector<int32_t> carried;  // slots of what a turn's tuple holds, in order
  bool changes_lists = false;    // in some of them, or of loops within
};

// Of the turns of a loop, as far as its paths tell.
Changes changes_of(const std::vector<std::unique_ptr<Path>>& paths, int32_t variables,
                   const std::vector<int32_t>& carried);

class InnerLoop;
class ObjectStep;

class Turn {
 public:
  // `registers` as the turn of this path left them, which the Turn keeps alive. Null: the path is
  // not one of numbers and arrays alone, and `stopped` says where.
  static std::unique_ptr<Turn> of(const Path& path, std::vector<Ref> registers,
                                  const Changes& changes, core::Loc& stopped);
  // Of a loop within a turn that makes this attempt: arguments that change are null, and some of
  // them are numbers of these types. The path may leave the loop.
  static std::unique_ptr<Turn> within(const Path& path, PyObject* const* arguments,
                                      std::span<const std::optional<Type>> types,
                                      const Changes& changes, Attempt& attempt);
  ~Turn();

  // For the turns that follow one which left these registers; false: it does not fit.
  bool fill(std::vector<Ref> registers);
  // For the turns from the one with these arguments on, though none was replayed: of its steps
  // those alone are run of which the others take the results for granted.
  bool prepare(PyObject* const* arguments);
  void empty();
  bool has_arrays() const { return !steps_.empty(); }
  // Whether its runs take so long that a replay takes no longer, and lets other threads run. One
  // that does may just have been the first of its sizes.
  bool is_slow() const { return slow_runs_ >= kSlowRuns; }

  // Runs as many turns as are this one's, at most so many; their number. Each but the first takes
  // what the one before it gave, and the next item: `more` is whether there is one, in the last of
  // the variables.
  int64_t run(std::span<Variable> variables, Items& items, int64_t most, bool& more);
  // Of a turn that leaves the loop: the parts of what it returns, but for the first, which is
  // `tag`.
  bool leave(std::span<const Variable> variables, const Items& items,
             std::vector<Variable>& values);
  const Ref& tag() const { return tag_; }
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
  // None: nothing is done that would have to be taken back.
  Attempt* attempt() const { return attempt_ ? attempt_.get() : outer_attempt_; }
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

  // Cells that have what is the same in all turns.
  struct SameNumber {
    int32_t reg;
    Number number;
  };
  struct SameArray {
    int32_t reg;
    Elements elements;
  };

  Code code_;
  const Path* root_ = nullptr;
  std::vector<TreeStep> granted_;
  std::vector<Ref> registers_;
  std::vector<SameNumber> numbers_;
  std::vector<SameArray> arrays_;
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
    AppendStep* step;
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
  struct SameObject {
    int32_t reg;
    ObjectStep* step;
  };
  std::vector<SameSlot> same_slots_;
  std::vector<SameObject> same_objects_;
  std::vector<std::unique_ptr<CellStep>> object_steps_;
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
  int64_t item_size_ = -1;  // of the tuple; the item is none
  std::vector<std::unique_ptr<InnerLoop>> loops_;
  std::unique_ptr<Attempt> attempt_;  // of its own, if it is within none
  Attempt* outer_attempt_ = nullptr;  // of the turn that it is within
  Ref tag_;                           // what it returns first, if it leaves the loop
  bool was_long_ = false, is_too_long_ = false;
  static constexpr int kSlowRuns = 2;
  int slow_runs_ = 0;  // one after the other
  int32_t item_ = -1;  // the cell that takes it
  Type item_type_;
  bool follows_itself_ = true;  // what it gives is what it takes
  bool knows_arrays_ = true;
};

const Path& root_of(const Path& path);
// The steps of a path from the root of its tree on.
std::vector<TreeStep> all_steps(const Path& path);

// What a turn's tuple has: its first item, if it is a constant, and the registers of the others.
// By register, the slot of the argument that it holds; -1: none.
struct Returned {
  std::vector<int32_t> arguments, registers;
  PyObject* tag = nullptr;
};
Returned returned_by(const Path& path);

}  // namespace dvm::capture::numbers
