// The steps of paths as instructions of the machine: of one path for a Turn, of all ways that turns
// go for a Body. Those of numbers are in turn_code.cpp, those of arrays, lists and loops in files
// of their own, how ways part in body_code.cpp.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "capture/replay/numbers/arrays.h"
#include "capture/replay/numbers/body.h"
#include "capture/replay/numbers/object_steps.h"
#include "capture/replay/numbers/turn.h"
#include "core/ops/fp_flags.h"

namespace dvm::capture::numbers {

// Follows the steps. A step that it has no meaning for ends it.
class TurnCode {
 public:
  // Of a turn that was replayed, and left these registers.
  TurnCode(Turn& turn, const Changes& changes, std::span<const Ref> registers)
      : bound_(turn.bound_),
        code_(bound_.code()),
        changes_(changes),
        turn_(&turn),
        registers_(registers) {
    runners_->emplace_back();
  }
  // None was replayed: what is the same in all turns is found by running its steps.
  TurnCode(Body& body, const Changes& changes, const Body::Entry& entry)
      : bound_(body.bound_),
        code_(bound_.code()),
        changes_(changes),
        body_(&body),
        entry_(&entry) {}

  bool append(const Path& path);
  // All ways that turns go. The registers are those that fill the cells.
  void append_tree(const std::vector<std::unique_ptr<Path>>& paths, std::vector<Ref>& registers);
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
      loop,      // the value of a loop within, by its cells
      typed,     // a number, whose type a cell tells
      method,    // of a text, of the name that an object of the path is
      unknown
    } is = Is::object;
    Number number = {};  // of a place: its address, and the dtype of what is there
    std::vector<int32_t> parts = {};
    Slot* slot = nullptr;            // of an array
    bool is_taken = false;           // as the turn was given it
    bool is_of_array = false;        // the element of an array without axes
    std::vector<int32_t> over = {};  // registers: an object, or arguments and what is called
    int32_t type = 0;                // the cell that tells it
    std::vector<std::optional<Type>> hints = {};  // of what is typed, where no guard tells it
  };

  Known& known(int32_t reg) { return known_[static_cast<size_t>(reg)]; }
  PyObject* object(int32_t reg) const {
    return turn_ ? registers_[static_cast<size_t>(reg)].get() : (*(*runners_)[way_])[reg];
  }
  int32_t home(int32_t reg) const { return bound_.home(way_, reg); }
  // Null: nothing is done that would have to be taken back.
  Attempt* attempt() const {
    if (turn_ != nullptr) return turn_->attempt_.get();
    return body_ != nullptr ? body_->attempt_.get() : attempt_;
  }
  bool is_same(int32_t reg) { return known(reg).is == Known::Is::object; }

  bool define(int32_t reg, const Number& number);
  bool define(int32_t reg, const Typed& number, std::optional<Type> hint = {}) {
    known(reg) = {.is = Known::Is::typed, .number = {number.cell, {}}, .type = number.type};
    known(reg).hints.push_back(hint);
    return true;
  }
  Typed new_typed() {
    const int32_t cell = code_.cell();
    return {cell, code_.integer(kNoType)};
  }
  // Of one that is typed: it is of that type.
  void expect_type(int32_t reg, Type type);
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
    return *turn_->slots_.emplace_back(std::make_unique<Slot>(library, dtype));
  }
  Slot& new_slot(const Likeness& like) { return new_slot(like.library(), like.dtype()); }
  Slot& new_slot(const Slot& like) { return new_slot(like.library, like.view.dtype); }

  template <typename Step, typename... Arguments>
  Step& append_step(Arguments&&... arguments) {
    auto made = std::make_unique<Step>(std::forward<Arguments>(arguments)...);
    Step& step = *made;
    turn_->steps_.push_back(std::move(made));
    code_.emit(Op::step, 0, 0, literal_of(step));
    return step;
  }

  template <typename Step, typename... Arguments>
  void append_object_step(int32_t reg, Arguments&&... arguments) {
    auto made = std::make_unique<Step>(std::forward<Arguments>(arguments)...);
    if (reg >= 0) bound_.add(home(reg), *made);
    bound_.append(std::move(made));
  }
  // One whose instruction is another than to run it.
  template <typename Step, typename... Arguments>
  const Step& keep_object_step(int32_t reg, Arguments&&... arguments) {
    auto made = std::make_unique<Step>(std::forward<Arguments>(arguments)...);
    const Step& step = *made;
    bound_.add(home(reg), *made);
    bound_.keep(std::move(made));
    return step;
  }

  // The step holds, and gives what it gives, in all turns; false: nobody knows what that is.
  bool granted() {
    const bool holds = turn_ != nullptr || (*runners_)[way_]->run({path_, step_});
    bound_.grant(way_, {path_, step_}, holds);
    goes_otherwise_ = !holds;
    return holds;
  }

  // A way of a Body's turns, from where it begins: at a guard that did not hold, with what is known
  // there.
  struct Way {
    const Path* path;
    std::vector<size_t> expectations = {};  // the instructions that lead there
    size_t runner = 0;
    std::vector<Known> known = {};
    core::FpFlags flags = 0;
    bool has_written = false;
  };
  void append_ways(const std::vector<std::unique_ptr<Path>>& paths);
  void append_root(const Path& root, std::vector<size_t>& to_next);
  void append_way(const Path& path, std::vector<size_t>& to_next);
  size_t begin_root(const Path& root);
  void note_way(const Path& path);
  // What a turn gives goes to where the next one takes it.
  void give_to_next(const std::vector<Body::Place>& gives);
  bool give_to_inner(const std::vector<Body::Place>& gives);
  void move_at_once(std::vector<std::pair<int32_t, int32_t>> moves);
  // Of the variables and the item, where a turn begins.
  const std::vector<std::optional<Type>>& types() const;
  size_t parts_of_item() const;
  bool part_of_item(int32_t reg, int32_t index);

  // A loop within.
  struct Inner;
  TurnCode(TurnCode& outer, Inner& inner);
  std::optional<Insn> begin_items(int32_t iterator, Inner& inner);
  void end_loop(Inner& inner);
  void leave_loop(Inner& inner, PyObject* tag, const std::vector<std::optional<Number>>& parts);
  bool leave_inner(const std::vector<int32_t>& returned);
  bool inner_argument(int32_t reg, int32_t slot);
  // Whether all of what the step is given is the same in all turns.
  bool is_of_same(const Path& path, const Step& step);
  bool append(const Path& path, const Step& step);

  // A step on what is the same in all turns, and so its result.
  bool same(const Path& path, const Step& step);
  bool argument(int32_t reg, int32_t slot);
  bool number_argument(int32_t reg, int32_t slot);

  // A part of the tuple that is the item.
  bool item(int32_t reg, int32_t index);
  bool changing(const Path& path, const Step& step, const int32_t* p);
  bool required(int32_t reg);
  bool guard_is(const int32_t* p);
  bool guard_type(const int32_t* p);
  bool compares_texts(Operator op, int32_t a, int32_t b);
  bool method_of_text(const int32_t* p);
  bool called_with_text(const int32_t* p);
  bool computed(int32_t result, Operator op, int32_t a, int32_t b);

  // max, min, abs, and the array of an element, for which that stands; other functions of numbers.
  bool called(const int32_t* p);
  // A number that a generator draws.
  bool drawn(const int32_t* p);
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
  bool is_within(const Loop& loop) const;
  bool part(int32_t result, const Known& loop, int32_t index);

  // The array that the call copies in C order; null: the call is another one.
  const Slot* copied(const int32_t* p);

  // The place of an element of an array: indices of all axes, and maybe `...`.
  bool element(int32_t result, int32_t from, int32_t by);
  std::optional<Number> index(int32_t reg);
  bool compared(ComparedStep::How how, const int32_t* p);

  // A view of an array by what its index is made of: integers, slices of them, and `...`.
  bool view(int32_t result, int32_t from, int32_t index);

  // What a slice is made of, or an index.
  std::optional<ViewStep::Part> part_of(int32_t reg);
  std::optional<ViewStep::Part> part_of_constant(PyObject* object);
  // What the path itself has in a register; null: it is found, or made, by each call.
  PyObject* constant_of(int32_t reg) const;
  bool segment(const Segment& segment);
  bool segment_of_arrays(const Segment& segment);
  std::optional<SegmentStep::Arguments> arguments_of(const Segment& segment);
  bool define_element(const Segment::Output& output, int32_t cell, const Segment& segment);
  bool segment_of_numbers(const Segment& segment);
  std::optional<Number> written(int32_t from);
  bool copy(int32_t to, int32_t from);
  // An element that a loop behind it finds written; the attempt takes it back with the turn.
  bool put(int32_t to, int32_t from);
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
  bool give_arrays(const std::vector<int32_t>& parts);
  bool give_numbers(const std::vector<int32_t>& parts);

  // Whether the slot has an object that may be given on: what a step made, or a variable.
  bool is_whole(const Slot* slot) const {
    return std::ranges::find(whole_, slot) != whole_.end() ||
           std::ranges::find(turn_->array_takes_, slot, &Turn::TakenArray::slot) !=
               turn_->array_takes_.end();
  }

  Bound& bound_;
  Code& code_;
  const Changes& changes_;
  Turn* turn_ = nullptr;  // what it is made for: a Turn, or a Body,
  Body* body_ = nullptr;
  const Body::Entry* entry_ = nullptr;
  Inner* inner_ = nullptr;           // or a loop within the turns of one of these,
  const TurnCode* outer_ = nullptr;  // whose code that is
  Attempt* attempt_ = nullptr;
  std::span<const Ref> registers_;
  using Runners = std::vector<std::unique_ptr<StepRunner>>;  // by way
  std::shared_ptr<Runners> runners_ = std::make_shared<Runners>();
  size_t way_ = 0;         // the present one
  std::vector<Way> ways_;  // that are still to be made
  std::vector<Known> known_;
  std::vector<TreeStep> steps_;  // of the path, from the root on
  // Whether the last step sends all turns another way, which it can before anything was written.
  bool goes_otherwise_ = false, has_written_ = false;
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
  bool committed_ = false, ended_ = false, has_copies_ = false, has_appends_ = false;
};

}  // namespace dvm::capture::numbers
