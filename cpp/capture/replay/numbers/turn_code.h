// The steps of a path as instructions of the machine, for one turn: those of numbers are in
// turn_code.cpp, those of arrays, lists and loops in files of their own.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "capture/replay/numbers/arrays.h"
#include "capture/replay/numbers/turn.h"
#include "core/ops/fp_flags.h"

namespace dvm::capture::numbers {

// Follows the steps. A step that it has no meaning for ends it.
class TurnCode {
 public:
  TurnCode(Turn& turn, const Changes& changes)
      : turn_(turn),
        code_(turn.code_),
        changes_(changes),
        known_(static_cast<size_t>(turn.root_->registers)) {}
  // Of a turn of a loop within another turn: none was replayed. What is the same in all turns is
  // found by running its steps, and these are the types of some numbers that are not.
  TurnCode(Turn& turn, const Changes& changes, StepRunner& runner,
           std::span<const std::optional<Type>> types)
      : TurnCode(turn, changes) {
    runner_ = &runner;
    types_ = types;
  }

  bool append(const Path& path);
  // Of the step that ended it.
  core::Loc location() const { return path_->location(*step_); }

 private:
  // What a register holds that changes: a number, the place of an element, an array, or what an
  // index or a slice is made of; of others the object is known.
  struct Known {
    enum class Is : uint8_t {
      object,
      number,
      place,
      array,
      parts,
      slice,
      item,      // a tuple that is iterated over
      range,     // of numbers that change, by their cells
      iterator,  // of such a range, or of what is the same in all turns: `over`
      loop,      // the value of a loop within
      unknown
    } is = Is::object;
    Number number = {};  // of a place: its address, and the dtype of what is there
    std::vector<int32_t> parts = {};
    Slot* slot = nullptr;            // of an array
    bool is_taken = false;           // as the turn was given it
    bool is_of_array = false;        // the element of an array without axes
    std::vector<int32_t> over = {};  // registers: an object, or arguments and what is called
    InnerLoop* loop = nullptr;
  };

  Known& known(int32_t reg) { return known_[static_cast<size_t>(reg)]; }
  PyObject* object(int32_t reg) const {
    return runner_ ? (*runner_)[reg] : turn_.registers_[static_cast<size_t>(reg)].get();
  }
  bool is_within() const { return runner_ != nullptr; }
  bool is_same(int32_t reg) { return known(reg).is == Known::Is::object; }

  bool define(int32_t reg, const Number& number);
  bool define(int32_t reg, const std::optional<Number>& number);

  // A number in a register, whether it changes or not; likewise None or a str.
  std::optional<Number> number(int32_t reg);
  std::optional<Number> value(int32_t reg);

  // The type that a guard of the path says a register has, or else what is in it.
  std::optional<Type> type_of(int32_t reg) const;

  // An array that is the same in all turns.
  std::optional<Elements> array(int32_t reg);

  // An array, whether it changes or not; null: it is none, or none of the machine's.
  Slot* slot(int32_t reg);
  Slot& new_slot(const Library& library, core::DType dtype) {
    return *turn_.slots_.emplace_back(std::make_unique<Slot>(library, dtype));
  }
  Slot& new_slot(const Likeness& like) { return new_slot(like.library(), like.dtype()); }
  Slot& new_slot(const Slot& like) { return new_slot(like.library, like.view.dtype); }

  template <typename Step, typename... Arguments>
  Step& append_step(Arguments&&... arguments) {
    auto made = std::make_unique<Step>(std::forward<Arguments>(arguments)...);
    Step& step = *made;
    turn_.steps_.push_back(std::move(made));
    code_.emit(Op::step, 0, 0, literal_of(step));
    return step;
  }

  template <typename Step, typename... Arguments>
  void append_object_step(int32_t reg, Arguments&&... arguments) {
    auto made = std::make_unique<Step>(std::forward<Arguments>(arguments)...);
    if (reg >= 0) turn_.same_objects_.push_back({reg, made.get()});
    code_.emit(Op::step, 0, 0, literal_of(*made));
    turn_.object_steps_.push_back(std::move(made));
  }

  // The step holds, and gives what it gives, in all turns; false: nobody knows what that is.
  bool granted() {
    if (runner_ && !runner_->run({path_, step_})) return false;
    turn_.granted_.push_back({path_, step_});
    return true;
  }
  // Whether all of what the step is given is the same in all turns.
  bool is_of_same(const Path& path, const Step& step);
  bool append(const Path& path, const Step& step);

  // A step on what is the same in all turns, and so its result.
  bool same(const Path& path, const Step& step);
  bool argument(int32_t reg, int32_t slot);

  // A part of the tuple that is the item.
  bool item(int32_t reg, int32_t index);
  bool changing(const Path& path, const Step& step, const int32_t* p);
  bool computed(int32_t result, Operator op, int32_t a, int32_t b);

  // max, min, abs, and the array of an element, for which that stands; other functions of numbers.
  bool called(const int32_t* p);
  bool boxed(int32_t result, std::optional<Operator> op, int32_t callee,
             const std::vector<Number>& arguments);

  // What is looked at in a list or tuple that is the same in all turns, though a turn may append to
  // it: an element, its length, its truth.
  bool listed(const Step& step, const int32_t* p);
  bool is_sequence(int32_t reg);
  int32_t length(int32_t sequence);
  bool place(int32_t result, int32_t sequence, int32_t at);

  // Ranges and iterators, loops over them, and the parts of what they give.
  bool iterates(const int32_t* p);
  bool inner_loop(const int32_t* p);
  bool part(int32_t result, InnerLoop& loop, int32_t index);

  // The array that the call copies in C order; null: the call is another one.
  const Slot* copied(const int32_t* p);

  // The place of an element of an array: indices of all axes, and maybe `...`.
  bool element(int32_t result, int32_t from, int32_t index);
  bool compared(ComparedStep::How how, const int32_t* p);

  // A view of an array by what its index is made of: integers, slices of them, and `...`.
  bool view(int32_t result, int32_t from, int32_t index);

  // What a slice is made of, or an index; a slice that the path has as a constant is refused.
  std::optional<ViewStep::Part> part_of(int32_t reg);
  bool segment(const Segment& segment);
  bool segment_of_arrays(const Segment& segment);
  std::optional<SegmentStep::Arguments> arguments_of(const Segment& segment);
  bool define_element(const Segment::Output& output, int32_t cell, const Segment& segment);
  bool segment_of_numbers(const Segment& segment);
  bool copy(int32_t to, int32_t from);
  bool copy_array(int32_t to, int32_t from);
  // Where a turn ends with one segment and one copy of what that makes, it is made in place.
  void place_result();
  // A call that changes a list: list.extend of a list of one, list.__setitem__ and list.pop.
  bool needs_attempt() const;
  bool changes_list(const int32_t* p);
  bool appended(int32_t list, int32_t parts);

  // Of the tuple that a turn returns: that the loop goes on, and the variables; or else how it is
  // left, and what is read behind it.
  bool give(const std::vector<int32_t>& parts);
  bool leave(const std::vector<int32_t>& parts);

  // Whether the slot has an object that may be given on: what a step made, or a variable.
  bool is_whole(const Slot* slot) const {
    return std::ranges::find(whole_, slot) != whole_.end() ||
           std::ranges::find(turn_.array_takes_, slot, &Turn::TakenArray::slot) !=
               turn_.array_takes_.end();
  }

  Turn& turn_;
  Code& code_;
  const Changes& changes_;
  std::vector<Known> known_;
  StepRunner* runner_ = nullptr;
  std::span<const std::optional<Type>> types_;
  std::vector<TreeStep> steps_;  // from the root on
  core::FpFlags flags_ = 0;
  std::vector<const Slot*> whole_;
  const Path* path_ = nullptr;  // whose step it is
  const Step* step_ = nullptr;
  size_t commit_ = 0;  // its place
  CommitStep* commit_step_ = nullptr;
  // Of array steps, the segments, and what lies behind the last one; the copies behind the commit.
  SegmentStep* segment_step_ = nullptr;
  std::vector<SegmentStep::Output> segment_outputs_;
  size_t segment_end_ = 0;
  CopyStep* copy_step_ = nullptr;
  int segments_ = 0, array_copies_ = 0;
  bool committed_ = false, ended_ = false, has_copies_ = false;
};

}  // namespace dvm::capture::numbers
